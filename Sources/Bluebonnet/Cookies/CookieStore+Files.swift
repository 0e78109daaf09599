public import FoundationEssentials

extension CookieStore {
    /// Loads the cookies of a Netscape cookie file, such as ``save(to:includingSessionCookies:)`` and `curl -c` write.
    ///
    /// The file is read on the global pool. What is in it goes in place of cookies of the same names, domains and paths.
    ///
    /// - Parameter file: The URL of the file.
    /// - Returns: How many cookies were loaded; see ``Cookie/load(from:)`` for those that are not.
    /// - Throws: A ``RequestError`` with ``RequestError/Kind-swift.enum/cookies(_:)`` when the file cannot be read,
    ///   `.sessionShutDown`.
    @concurrent @discardableResult
    public func load(from file: URL) async throws(RequestError) -> Int {
        let cookies = try Cookie.load(from: file)
        try await set(cookies)
        return cookies.count
    }

    /// Saves the cookies as a Netscape cookie file, which `curl -b` reads, too.
    ///
    /// The file is for its owner only (mode 0600), since cookies are secrets. It is written on the global pool, under
    /// another name, and takes its own when it is complete: whoever reads it sees all of the old one or all of the new.
    ///
    /// - Parameters:
    ///   - file: The URL of the file; one that is there is replaced.
    ///   - includingSessionCookies: Whether cookies without an expiry are saved, too; `true` by default.
    /// - Throws: A ``RequestError`` with ``RequestError/Kind-swift.enum/cookies(_:)`` when the file cannot be written,
    ///   `.sessionShutDown`.
    @concurrent
    public func save(to file: URL, includingSessionCookies: Bool = true) async throws(RequestError) {
        let cookies = try await all().filter { includingSessionCookies || !$0.isSessionCookie }
        try CookieFile(file).write(cookies)
    }
}

extension Cookie {
    /// Reads the cookies in a Netscape cookie file.
    ///
    /// Blocks for as long as the disk takes. Left out are lines that are no cookies, cookies that have expired, and those
    /// that a session does not keep, such as one for all hosts below a public suffix.
    ///
    /// - Parameter file: The URL of the file.
    /// - Returns: The cookies.
    /// - Throws: A ``RequestError`` with ``RequestError/Kind-swift.enum/cookies(_:)`` when the file cannot be read, as when
    ///   there is none.
    public static func load(from file: URL) throws(RequestError) -> [Cookie] {
        try CookieFile(file).read()
    }
}
