/// A transport that keeps cookies, sends them, and lets them be seen and changed.
///
/// What a session is given as its transport may be one; the one with libcurl is, the stub for tests is not.
public protocol CookieKeepingTransport: Transport {
    /// Returns the cookies that are kept, in the order of their coming for each host; those that have expired are left out.
    ///
    /// - Returns: The cookies; none if the session's policy is to keep none.
    /// - Throws: `.sessionShutDown` after ``Transport/shutDown()``.
    func cookies() async throws(RequestError) -> [Cookie]

    /// Changes the cookies that are kept, all at once.
    ///
    /// - Parameter change: What to change. The cookies in it have been checked.
    /// - Throws: `.sessionShutDown` after ``Transport/shutDown()``, `.cookies(.notKept)` if none are kept.
    func changeCookies(_ change: CookieChange) async throws(RequestError)
}

/// Says how a session's cookies are changed.
@nonexhaustive
public enum CookieChange: Hashable, Sendable {
    /// Keeps these, in place of those of the same name, domain and path.
    case set([Cookie])
    /// Removes these, whatever their values are.
    case delete([Cookie])
    /// Removes those of a domain and of the hosts below it.
    case deleteDomain(String)
    /// Removes those that last as long as the session.
    case deleteSessionCookies
    /// Removes all.
    case deleteAll
}
