public import FoundationEssentials
import Glibc

/// Reads, sets, deletes, loads and saves the cookies of a session.
///
/// The session handles the cookies of its requests and responses automatically; use a store to access them yourself. A
/// store is a handle that you can keep and use from any task. It reads and changes cookies on the session's event loop,
/// in between network events. When the session has been shut down or no longer exists, all operations throw
/// `.sessionShutDown`.
///
/// A session has no cookies if its policy is ``Session/Configuration/Cookies/Policy-swift.enum/never``, or if its
/// transport does not support cookies, such as the stub for tests. In this case, reading returns an empty array,
/// deleting does nothing, and setting throws `.cookies(.disabled)`.
public struct CookieStore: Sendable {
    private let storage: (any CookieStorage)?

    init(_ storage: (any CookieStorage)?) {
        self.storage = storage
    }

    // MARK: Reading

    /// Returns all cookies that have not expired.
    ///
    /// For each host, the cookies are in the order in which they were set. The hosts are in no particular order.
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

    /// Stores a cookie, replacing a stored cookie with the same name, domain and path.
    ///
    /// An expired cookie deletes the stored cookie.
    ///
    /// - Parameter cookie: The cookie to store.
    /// - Throws: A ``RequestError`` of the kind ``RequestError/Kind-swift.enum/cookies(_:)`` if the cookie cannot be
    ///   stored, or `.sessionShutDown` if the session was shut down or no longer exists.
    public func set(_ cookie: Cookie) async throws(RequestError) {
        try await set([cookie])
    }

    /// Stores all of the cookies or none; they replace stored cookies with the same name, domain and path.
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
    ///   - url: The URL of the request that the imagined response answers.
    /// - Returns: The cookie described by the field.
    /// - Throws: A ``RequestError`` of the kind ``RequestError/Kind-swift.enum/cookies(_:)`` if such a response is not
    ///   allowed to set the cookie, or `.sessionShutDown` if the session was shut down or no longer exists.
    @discardableResult
    public func set(_ setCookie: String, for url: URL) async throws(RequestError) -> Cookie {
        let cookie = try Cookie(setCookie: setCookie, for: url)
        try await set([cookie])
        return cookie
    }

    // MARK: Deleting

    /// Deletes the cookie with the same name, domain and path, whatever its value.
    ///
    /// - Parameter cookie: A cookie with the name, domain and path to look for.
    /// - Throws: `.sessionShutDown` if the session was shut down or no longer exists.
    public func delete(_ cookie: Cookie) async throws(RequestError) {
        try await storage?.changeCookies(.delete([cookie]))
    }

    /// Deletes the cookies of a domain and of all hosts below it.
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

extension Session {
    /// The session's cookies.
    public nonisolated var cookies: CookieStore { CookieStore(context.transport.cookieStorage) }
}

extension CookieStore {
    /// Loads cookies from a Netscape cookie file, such as ``save(to:includingSessionCookies:)`` and `curl -c` write.
    ///
    /// The method reads the file on the global pool. The loaded cookies replace stored cookies with the same name,
    /// domain and path.
    ///
    /// - Parameter file: The URL of the file.
    /// - Returns: The number of loaded cookies. ``Cookie/load(from:)`` lists the cookies that are skipped.
    /// - Throws: A ``RequestError`` of the kind ``RequestError/Kind-swift.enum/cookies(_:)`` if the file cannot be
    ///   read, or `.sessionShutDown` if the session was shut down or no longer exists.
    @concurrent @discardableResult
    public func load(from file: URL) async throws(RequestError) -> Int {
        let cookies = try Cookie.load(from: file)
        try await set(cookies)
        return cookies.count
    }

    /// Saves the cookies to a Netscape cookie file, which `curl -b` can read, too.
    ///
    /// Only the owner of the file can read it (mode 0600), because cookies are secrets. The method writes the file on
    /// the global pool and replaces it atomically: readers see either the old file or the new one.
    ///
    /// - Parameters:
    ///   - file: The URL of the file; an existing file is replaced.
    ///   - includingSessionCookies: Whether to save cookies without an expiry date, too; `true` by default.
    /// - Throws: A ``RequestError`` of the kind ``RequestError/Kind-swift.enum/cookies(_:)`` if the file cannot be
    ///   written, or `.sessionShutDown` if the session was shut down or no longer exists.
    @concurrent
    public func save(to file: URL, includingSessionCookies: Bool = true) async throws(RequestError) {
        let cookies = try await all().filter { includingSessionCookies || !$0.isSessionCookie }
        try CookieFile(file).write(cookies)
    }
}

extension Cookie {
    /// Reads the cookies in a Netscape cookie file.
    ///
    /// The method blocks while it reads the file, which may have up to 64 MiB. It skips lines that are not cookies,
    /// expired cookies, and cookies that a session would refuse, such as a cookie for all hosts below a public suffix.
    ///
    /// - Parameter file: The URL of the file.
    /// - Returns: The cookies in the order of their lines.
    /// - Throws: A ``RequestError`` of the kind ``RequestError/Kind-swift.enum/cookies(_:)`` if the file cannot be
    ///   read, for example because it does not exist.
    public static func load(from file: URL) throws(RequestError) -> [Cookie] {
        try CookieFile(file).read()
    }
}

/// A cookie file in Netscape's format; all calls block.
struct CookieFile {
    private let path: String

    init(_ url: URL) throws(RequestError) {
        let path = url.path(percentEncoded: false)
        guard url.isFileURL, !path.isEmpty, !path.utf8.contains(0) else {
            throw RequestError(.cookies(.notAFileURL(url.redactedDescription)))
        }
        self.path = path
    }

    /// Returns the cookies in the file that a session accepts.
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

    /// Returns the cookies in the bytes of a file that a session accepts.
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
        // A random name, so that two tasks that save at the same time do not write to the same file.
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
    /// The cookies that a session stores and sends.
    ///
    /// The limits are the same as in browsers: 180 cookies per site, and 3,300 cookies in total. A site is a domain
    /// directly below a public suffix, with all its hosts. The session counts the cookies only occasionally, so up to
    /// 30 more per site and up to 300 more in total may be stored. If a site has too many cookies, its oldest ones are
    /// deleted. If there are too many in total, the session first deletes cookies of the sites that have not set a
    /// cookie for the longest time.
    public struct Cookies: Hashable, Sendable {
        /// Which sites may set cookies and receive them; ``Policy/always`` by default.
        public var policy: Policy = .always

        /// The cookies that the session starts with; none by default.
        ///
        /// Use ``Cookie/load(from:)`` to read them from a file. If one of them cannot be stored, every request of the
        /// session fails with ``RequestError/Kind-swift.enum/cookies(_:)``.
        public var initial: [Cookie] = []

        /// Creates the default settings.
        public init() {}

        /// Which sites may set cookies and receive them.
        @nonexhaustive
        public enum Policy: Hashable, Sendable {
            /// All hosts may set cookies, and receive their cookies.
            case always
            /// Only the site of a request may set cookies and receive them; other sites that it is redirected to may
            /// not.
            ///
            /// A site is a domain directly below a public suffix, with all its hosts, for example `example.co.uk` and
            /// all hosts below it.
            case firstPartyOnly
            /// The session does not store or send cookies.
            case never
        }
    }
}
