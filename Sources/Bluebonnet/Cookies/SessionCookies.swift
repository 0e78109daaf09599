package import FoundationEssentials
import Synchronization

/// Guards the cookies of a session, for its event loops and for ``CookieStore``.
///
/// An event loop reads the cookies each time libcurl is about to send a request, and stores the cookies of a head
/// before the response is reported.
package final class SessionCookies: CookieStorage {
    private let decision: CookieDecision
    /// The cookies; `nil` after the session has ended.
    private let jar: Locked<CookieJar?>
    /// Whether a cookie may have been stored; before that, a request needs neither the lock nor the time.
    private let mayHaveCookies: Atomic<Bool>

    /// Creates the storage of a session; `nil` if the session does not store cookies.
    package init?(_ configuration: Session.Configuration.Cookies) {
        guard configuration.policy != .never else { return nil }
        decision = CookieDecision(policy: configuration.policy)
        var jar = CookieJar()
        jar.change(.set(configuration.initial), now: Date())
        self.jar = Locked(jar)
        mayHaveCookies = Atomic(!configuration.initial.isEmpty)
    }

    /// Whether cookies are sent with a request, and stored from its response.
    func areUsed(by request: HTTPRequest) -> Bool { decision.includesCookies(in: request) }

    /// The value of the `Cookie` field of a request; empty if no cookie is sent.
    func field(for url: URL) -> [UInt8] {
        guard mayHaveCookies.load(ordering: .acquiring) else { return [] }
        let now = Date()
        return jar.withLock { $0?.field(for: url, now: now) ?? [] }
    }

    /// Stores the cookie of a `Set-Cookie` field.
    package func received(_ field: [UInt8], from url: URL) {
        let now = Date()
        mayHaveCookies.store(true, ordering: .releasing)
        jar.withLock { $0?.received(field, from: url, now: now) }
    }

    package func cookies() throws(RequestError) -> [Cookie] {
        let now = Date()
        guard let cookies = jar.withLock({ $0?.cookies(at: now) }) else { throw RequestError(.sessionShutDown) }
        return cookies
    }

    package func changeCookies(_ change: CookieChange) throws(RequestError) {
        if case .set(let cookies) = change { for cookie in cookies { try cookie.validate() } }
        let now = Date()
        mayHaveCookies.store(true, ordering: .releasing)
        guard jar.withLock({ $0?.change(change, now: now) }) != nil else { throw RequestError(.sessionShutDown) }
    }

    /// Forgets the cookies, because the session has ended.
    package func close() { jar.withLock { $0 = nil } }
}
