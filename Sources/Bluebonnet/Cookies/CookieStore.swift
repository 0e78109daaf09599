public import FoundationEssentials
import Glibc

/// The cookies of a session: to read, to set, to delete, to load and to save.
///
/// Responses set cookies and requests send them without this. A store is a handle, which may be kept and used from
/// anywhere; reading and changing is done on the session's loop, between what the network does there. After the session
/// was shut down or is gone, everything fails with `.sessionShutDown`.
///
/// A session with the policy ``Session/Configuration/Cookies/Policy-swift.enum/never``, and one whose transport keeps
/// no cookies (as the stub for tests), has none: reading returns an empty list, deleting does nothing, and setting
/// fails with `.cookies(.disabled)`.
public struct CookieStore: Sendable {
    private let storage: (any CookieStorage)?

    init(_ storage: (any CookieStorage)?) {
        self.storage = storage
    }

    // MARK: Reading

    /// Returns all cookies that have not expired, in the order of their coming for each host, and else in none.
    ///
    /// - Returns: The cookies.
    /// - Throws: `.sessionShutDown`.
    public func all() async throws(RequestError) -> [Cookie] {
        try await storage?.cookies() ?? []
    }

    /// Returns the cookies that a request to a URL would send, in the order of the field (RFC 6265 §5.4).
    ///
    /// - Parameter url: The URL.
    /// - Returns: The cookies.
    /// - Throws: `.sessionShutDown`.
    public func cookies(for url: URL) async throws(RequestError) -> [Cookie] {
        let now = Date()
        return try await all().filter { $0.isSent(to: url, at: now) }.inOrderOfSending
    }

    // MARK: Setting

    /// Keeps a cookie, in place of the one of the same name, domain and path.
    ///
    /// An expired cookie deletes the stored cookie.
    ///
    /// - Parameter cookie: The cookie.
    /// - Throws: A ``RequestError`` with ``RequestError/Kind-swift.enum/cookies(_:)`` when it cannot be kept,
    ///   `.sessionShutDown`.
    public func set(_ cookie: Cookie) async throws(RequestError) {
        try await set([cookie])
    }

    /// Keeps cookies, in place of those of the same names, domains and paths; all of them or none.
    ///
    /// - Parameter cookies: The cookies.
    /// - Throws: A ``RequestError`` with ``RequestError/Kind-swift.enum/cookies(_:)`` when one cannot be kept,
    ///   `.sessionShutDown`.
    public func set(_ cookies: [Cookie]) async throws(RequestError) {
        for cookie in cookies { try cookie.validate() }
        guard let storage else { throw RequestError(.cookies(.disabled)) }
        try await storage.changeCookies(.set(cookies))
    }

    /// Keeps a cookie as if a response had set it.
    ///
    /// - Parameters:
    ///   - setCookie: The value of a `Set-Cookie` field.
    ///   - url: The URL of the request to which that were the response.
    /// - Returns: The cookie.
    /// - Throws: A ``RequestError`` with ``RequestError/Kind-swift.enum/cookies(_:)`` when a response to that request must
    ///   not set it, `.sessionShutDown`.
    @discardableResult
    public func set(_ setCookie: String, for url: URL) async throws(RequestError) -> Cookie {
        let cookie = try Cookie(setCookie: setCookie, for: url)
        try await set([cookie])
        return cookie
    }

    // MARK: Deleting

    /// Deletes a cookie: the one of the same name, domain and path, whatever its value is.
    ///
    /// - Parameter cookie: The cookie.
    /// - Throws: `.sessionShutDown`.
    public func delete(_ cookie: Cookie) async throws(RequestError) {
        try await storage?.changeCookies(.delete([cookie]))
    }

    /// Deletes the cookies of a domain, and those of the hosts below it.
    ///
    /// - Parameter domain: The domain, such as `example.com`.
    /// - Throws: `.sessionShutDown`.
    public func deleteAll(ofDomain domain: String) async throws(RequestError) {
        try await storage?.changeCookies(.deleteDomain(domain))
    }

    /// Deletes the cookies that have no expiry, as a browser does when it is closed.
    ///
    /// - Throws: `.sessionShutDown`.
    package func deleteSessionCookies() async throws(RequestError) {
        try await storage?.changeCookies(.deleteSessionCookies)
    }

    /// Deletes all cookies.
    ///
    /// - Throws: `.sessionShutDown`.
    public func deleteAll() async throws(RequestError) {
        try await storage?.changeCookies(.deleteAll)
    }
}

extension Session {
    /// The session's cookies.
    public nonisolated var cookies: CookieStore { CookieStore(context.transport.cookieStorage) }
}

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
    /// The file is for its owner only (mode 0600), since cookies are secrets. It is written on the global pool and
    /// replaced atomically: readers see either the old file or the new one.
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

/// A file of cookies in Netscape's format; all calls block.
struct CookieFile {
    private let path: String

    init(_ url: URL) throws(RequestError) {
        let path = url.path(percentEncoded: false)
        guard url.isFileURL, !path.isEmpty, !path.utf8.contains(0) else {
            throw RequestError(.cookies(.notAFileURL(url.redactedDescription)))
        }
        self.path = path
    }

    /// Returns the cookies in the file that a session can keep.
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

    /// Returns the cookies in a file's bytes that a session can keep.
    static func cookies(in data: Data, now: Date) -> [Cookie] {
        data.split(separator: 0x0a).compactMap { line in
            guard let text = String(validating: line, as: UTF8.self), let cookie = Cookie(netscapeLine: text),
                !cookie.isExpired(at: now), (try? cookie.validate()) != nil
            else { return nil }
            return cookie
        }
    }

    /// Writes a file with the cookies, in place of the one that is there.
    func write(_ cookies: [Cookie]) throws(RequestError) {
        let lines = [
            "# Netscape HTTP Cookie File", "# Written by Bluebonnet. It holds secrets: keep it to yourself.", "",
        ]
        let text = (lines + cookies.map(\.netscapeLine)).joined(separator: "\n") + "\n"
        // Two that save at the same time do not write to the same file.
        let unfinished = "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 16)).new"
        do throws(SystemError) {
            try OpenFile.replace(path, with: Data(text.utf8), by: unfinished)
        } catch {
            throw RequestError(.cookies(.fileUnwritable(path: path)), detail: error.message)
        }
    }

    /// The largest file that is read, in bytes: some 100,000 cookies.
    private static let sizeLimit: Int64 = 64 * 1024 * 1024
}

extension Session.Configuration {
    /// Says which cookies a session keeps, and sends back.
    ///
    /// The limits are those of browsers: 180 cookies of a site, which is the domain below a public suffix with all its hosts,
    /// and 3,300 in all. They are counted now and then, so there may be 30 more of a site, and 300 more in all. When a site
    /// has too many, its oldest go. When there are too many in all, those of the sites go that set none for the longest time.
    public struct Cookies: Hashable, Sendable {
        /// Whose cookies are kept and sent; ``Policy/always`` by default.
        public var policy: Policy = .always

        /// The cookies that the session begins with; none by default.
        ///
        /// ``Cookie/load(from:)`` reads them from a file. One that cannot be kept makes every request of the session fail
        /// with ``RequestError/Kind-swift.enum/cookies(_:)``.
        public var initial: [Cookie] = []

        /// Creates the default settings.
        public init() {}

        /// Says whose cookies are kept and sent.
        @nonexhaustive
        public enum Policy: Hashable, Sendable {
            /// Those of every host that is asked for something.
            case always
            /// Those of the site that a request was made to, and not of others that it is redirected to.
            ///
            /// A site is what is registered under a public suffix: `example.co.uk` with all hosts below it.
            case firstPartyOnly
            /// None: the session has no cookies.
            case never
        }
    }
}
