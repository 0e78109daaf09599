import BluebonnetLibc
public import FoundationEssentials

/// Reads, sets, deletes, loads and saves the cookies of a session.
///
/// A session stores and sends cookies automatically. Use the store to access the cookies yourself. You can keep the
/// store and use it from any task. The store reads and changes the cookies on the caller's thread. After a session with
/// cookies has been shut down or released, the methods throw `.sessionShutDown`.
///
/// A session has no cookies if its policy is ``Session/Configuration/Cookies/Policy-swift.enum/never``, or if its
/// transport does not support cookies. In this case, reading returns an empty array, deleting does nothing, and setting
/// a valid cookie throws `.cookies(.disabled)`. A shutdown of such a session does not change this.
public struct CookieStore: Sendable {
    private let storage: (any CookieStorage)?

    init(_ storage: (any CookieStorage)?) {
        self.storage = storage
    }

    // MARK: Reading

    /// Returns all cookies that have not expired.
    ///
    /// The cookies of a host are in the order in which they were set. The order of the hosts is undefined.
    ///
    /// - Returns: The cookies that have not expired.
    /// - Throws: `.sessionShutDown` if the session was shut down or no longer exists.
    public func all() async throws(RequestError) -> [Cookie] {
        try await storage?.cookies() ?? []
    }

    /// Returns the cookies that a request to a URL would send, in the order of the `Cookie` field (RFC 6265 §5.4).
    ///
    /// - Parameter url: The URL of a request.
    /// - Returns: The cookies that match the URL and have not expired.
    /// - Throws: `.sessionShutDown` if the session was shut down or no longer exists.
    public func cookies(for url: URL) async throws(RequestError) -> [Cookie] {
        let now = Date()
        return try await all().filter { $0.isSent(to: url, at: now) }.inOrderOfSending
    }

    // MARK: Setting

    /// Stores a cookie, and replaces a stored cookie with the same name, domain and path.
    ///
    /// If the new cookie has expired, the session deletes the stored cookie and does not store the new cookie.
    ///
    /// - Parameter cookie: The cookie to store.
    /// - Throws: A ``RequestError`` of the kind ``RequestError/Kind-swift.enum/cookies(_:)`` if the cookie cannot be
    ///   stored, or `.sessionShutDown` if the session was shut down or no longer exists.
    public func set(_ cookie: Cookie) async throws(RequestError) {
        try await set([cookie])
    }

    /// Stores cookies, and replaces stored cookies with the same names, domains and paths.
    ///
    /// If one of the cookies is invalid, no cookie is stored.
    ///
    /// - Parameter cookies: The cookies to store.
    /// - Throws: A ``RequestError`` of the kind ``RequestError/Kind-swift.enum/cookies(_:)`` if one of the cookies
    ///   cannot be stored, or `.sessionShutDown` if the session was shut down or no longer exists.
    public func set(_ cookies: [Cookie]) async throws(RequestError) {
        for cookie in cookies { try cookie.validate() }
        guard let storage else { throw RequestError(.cookies(.disabled)) }
        try await storage.changeCookies(.set(cookies))
    }

    /// Stores a cookie as if a response had set it.
    ///
    /// - Parameters:
    ///   - setCookie: The value of a `Set-Cookie` field.
    ///   - url: The URL of the request whose response contains the field.
    /// - Returns: The parsed cookie.
    /// - Throws: A ``RequestError`` of the kind ``RequestError/Kind-swift.enum/cookies(_:)`` if the cookie is invalid,
    ///   if the host of the URL is not allowed to set the cookie, or if the session has no cookies. The method throws
    ///   `.sessionShutDown` if the session was shut down or no longer exists.
    @discardableResult
    public func set(_ setCookie: String, for url: URL) async throws(RequestError) -> Cookie {
        let cookie = try Cookie(setCookie: setCookie, for: url)
        try await set([cookie])
        return cookie
    }

    // MARK: Deleting

    /// Deletes the stored cookie with the same name, domain and path as a cookie.
    ///
    /// - Parameter cookie: A cookie with the name, the domain and the path of the stored cookie.
    /// - Throws: `.sessionShutDown` if the session was shut down or no longer exists.
    public func delete(_ cookie: Cookie) async throws(RequestError) {
        try await storage?.changeCookies(.delete([cookie]))
    }

    /// Deletes the cookies of a domain and of its subdomains.
    ///
    /// - Parameter domain: The domain, such as `example.com`.
    /// - Throws: `.sessionShutDown` if the session was shut down or no longer exists.
    public func deleteAll(ofDomain domain: String) async throws(RequestError) {
        try await storage?.changeCookies(.deleteDomain(domain))
    }

    /// Deletes the cookies that have no expiry date, as a browser does when it closes.
    ///
    /// - Throws: `.sessionShutDown` if the session was shut down or no longer exists.
    public func deleteSessionCookies() async throws(RequestError) {
        try await storage?.changeCookies(.deleteSessionCookies)
    }

    /// Deletes all cookies.
    ///
    /// - Throws: `.sessionShutDown` if the session was shut down or no longer exists.
    public func deleteAll() async throws(RequestError) {
        try await storage?.changeCookies(.deleteAll)
    }
}

extension CookieStore {
    /// Loads cookies from a file in the Netscape format, which ``save(to:includingSessionCookies:)`` and `curl -c`
    /// write.
    ///
    /// The method reads the file on the global executor. The loaded cookies replace stored cookies with the same name,
    /// domain and path.
    ///
    /// - Parameter file: The URL of the file.
    /// - Returns: The number of loaded cookies, without the cookies that ``Cookie/load(from:)`` skips.
    /// - Throws: A ``RequestError`` of the kind ``RequestError/Kind-swift.enum/cookies(_:)`` if the file cannot be read
    ///   or the session has no cookies. The method throws `.sessionShutDown` if the session was shut down or no longer
    ///   exists.
    @concurrent @discardableResult
    public func load(from file: URL) async throws(RequestError) -> Int {
        let cookies = try Cookie.load(from: file)
        try await set(cookies)
        return cookies.count
    }

    /// Saves the cookies to a file in the Netscape format, which `curl -b` can also read.
    ///
    /// The file has the mode 0600, so only its owner can read the cookies. The method writes the file on the global
    /// executor, and replaces an existing file atomically.
    ///
    /// - Parameters:
    ///   - file: The URL of the file; an existing file is replaced.
    ///   - includingSessionCookies: Whether cookies without an expiry date are also saved; `true` by default.
    /// - Throws: A ``RequestError`` of the kind ``RequestError/Kind-swift.enum/cookies(_:)`` if the file cannot be
    ///   written, or `.sessionShutDown` if the session was shut down or no longer exists.
    @concurrent
    public func save(to file: URL, includingSessionCookies: Bool = true) async throws(RequestError) {
        let cookies = try await all().filter { includingSessionCookies || !$0.isSessionCookie }
        try CookieFile(file).write(cookies)
    }
}

extension Cookie {
    /// Reads the cookies from a file in the Netscape format.
    ///
    /// The method reads the file on the calling thread. The file can be up to 64 MiB in size. The method skips invalid
    /// lines, expired cookies, and cookies that a session would refuse, such as a cookie for a public suffix.
    ///
    /// - Parameter file: The URL of the file.
    /// - Returns: The cookies in the order of their lines.
    /// - Throws: A ``RequestError`` of the kind ``RequestError/Kind-swift.enum/cookies(_:)`` if the file cannot be
    ///   read, for example because it does not exist.
    public static func load(from file: URL) throws(RequestError) -> [Cookie] {
        try CookieFile(file).read()
    }
}

/// A cookie file in the Netscape format; all calls block.
struct CookieFile {
    private let path: String

    init(_ url: URL) throws(RequestError) {
        let path = url.path(percentEncoded: false)
        guard url.isFileURL, !path.isEmpty, !path.utf8.contains(0) else {
            throw RequestError(.cookies(.notAFileURL(url.redactedDescription)))
        }
        self.path = path
    }

    /// Returns the valid cookies in the file.
    func read() throws(RequestError) -> [Cookie] {
        do throws(FileError) {
            guard let data = try FileReader.contents(of: path, limit: Self.sizeLimit) else {
                throw .system(SystemError(EFBIG))
            }
            return Self.cookies(in: data, now: Date())
        } catch {
            throw RequestError(.cookies(.fileUnreadable(path: path)), detail: error.message)
        }
    }

    /// Returns the valid cookies in the bytes of a file.
    static func cookies(in data: Data, now: Date) -> [Cookie] {
        data.split(separator: 0x0a).compactMap { line in
            guard let text = String(validating: line, as: UTF8.self), let cookie = Cookie(netscapeLine: text),
                !cookie.isExpired(at: now), (try? cookie.validate()) != nil
            else { return nil }
            return cookie
        }
    }

    /// Writes the cookies to the file, replacing an existing file.
    func write(_ cookies: [Cookie]) throws(RequestError) {
        let lines = [
            "# Netscape HTTP Cookie File", "# Written by Bluebonnet. It holds secrets: keep it to yourself.", "",
        ]
        let text = (lines + cookies.map(\.netscapeLine)).joined(separator: "\n") + "\n"
        // The name is random, so two tasks that save at the same time do not write to the same file.
        let unfinished = "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 16)).new"
        do throws(SystemError) {
            try OpenFile.replace(path, with: Data(text.utf8), by: unfinished)
        } catch {
            throw RequestError(.cookies(.fileUnwritable(path: path)), detail: error.message)
        }
    }

    /// The size of the largest file that is read, in bytes; enough for about 100,000 cookies.
    private static let sizeLimit: Int64 = 64 * 1024 * 1024
}

extension Session.Configuration {
    /// The cookie settings of a session.
    ///
    /// As in browsers, the limits are 180 cookies per site and 3,300 cookies in total. A site is a domain directly
    /// below a public suffix, with its subdomains. The session counts the cookies only occasionally, so the limits can
    /// be exceeded by up to 30 cookies per site and 300 in total. If a site has too many cookies, the session deletes
    /// the oldest cookies of the site. If there are too many cookies in total, the session first deletes cookies of
    /// sites that have not set a cookie for a long time.
    public struct Cookies: Hashable, Sendable {
        /// The policy that decides which sites may set and receive cookies; ``Policy/always`` by default.
        public var policy: Policy = .always

        /// The initial cookies of the session; none by default.
        ///
        /// ``Cookie/load(from:)`` reads cookies from a file. If one of the cookies cannot be stored, every request of
        /// the session fails with ``RequestError/Kind-swift.enum/cookies(_:)``.
        public var initial: [Cookie] = []

        /// Creates the default settings.
        public init() {}

        /// A policy that decides which sites may set and receive cookies.
        @nonexhaustive
        public enum Policy: Hashable, Sendable {
            /// All hosts may set and receive cookies.
            case always
            /// Only the site of the original request may set and receive cookies.
            ///
            /// The original request is the request before all redirects. If a redirect leads to another site, the
            /// other site cannot set or receive cookies. A site is a domain directly below a public suffix, with its
            /// subdomains. For example, `example.co.uk` and `www.example.co.uk` are the same site, because `co.uk` is a
            /// public suffix.
            case firstPartyOnly
            /// The session does not store or send cookies.
            case never
        }
    }
}
