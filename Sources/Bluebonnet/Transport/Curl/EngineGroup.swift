/// The state that the engines of a transport share; each engine runs on an event loop of its own.
final class EngineGroup: Sendable {
    /// The session's cookies, and the hosts that require TLS; `nil` if the session does not store them.
    let cookies: SessionCookies?
    let hsts: SessionHSTS?

    init(_ configuration: Session.Configuration) {
        cookies = SessionCookies(configuration.cookies)
        hsts = SessionHSTS(configuration.hsts)
    }

    /// Called when the session has ended.
    func close() {
        cookies?.close()
        hsts?.close()
    }
}
