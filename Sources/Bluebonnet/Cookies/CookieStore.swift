public import FoundationEssentials

/// The cookies of a session: to read, to set, to delete, to load and to save.
///
/// Responses set cookies and requests send them without this. A store is a handle, which may be kept and used from
/// anywhere; reading and changing is done on the session's loop, between what the network does there. After the session
/// was shut down or is gone, everything fails with `.sessionShutDown`.
///
/// A session with the policy ``Session/Configuration/Cookies/Policy-swift.enum/never``, and one whose transport keeps no
/// cookies (as the stub for tests), has none: reading gives none, deleting does nothing, and setting fails with
/// `.cookies(.notKept)`.
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
    /// One that has expired deletes that one.
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
        guard let storage else { throw RequestError(.cookies(.notKept)) }
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
    public func deleteSessionCookies() async throws(RequestError) {
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
