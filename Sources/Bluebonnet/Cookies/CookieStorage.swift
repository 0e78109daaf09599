/// The cookie storage of a transport.
public protocol CookieStorage: Sendable {
    /// Returns the stored cookies that have not expired.
    ///
    /// The cookies of each host are in the order in which they were received.
    ///
    /// - Returns: The cookies; an empty array if the transport does not store cookies.
    /// - Throws: `.sessionShutDown` after ``Transport/shutDown()``.
    func cookies() async throws(RequestError) -> [Cookie]

    /// Applies a change to the stored cookies, completely or not at all.
    ///
    /// - Parameter change: The change to apply. ``CookieStore`` validates the cookies before it calls this method.
    /// - Throws: `.sessionShutDown` after ``Transport/shutDown()``; `.cookies(.disabled)` if the change sets cookies
    ///   and the transport does not store cookies; another `.cookies` error if a cookie cannot be stored.
    func changeCookies(_ change: CookieChange) async throws(RequestError)
}

/// A change to a session's cookies.
@nonexhaustive
public enum CookieChange: Hashable, Sendable {
    /// Stores these cookies, and replaces cookies with the same name, domain and path.
    case set([Cookie])
    /// Removes these cookies, even if their stored values are different.
    case delete([Cookie])
    /// Removes the cookies of a domain and its subdomains.
    case deleteDomain(String)
    /// Removes the session cookies, which have no expiry date.
    case deleteSessionCookies
    /// Removes all cookies.
    case deleteAll
}
