/// Decides whether a request follows a redirect, and with which request.
///
/// A request's own handler goes before its session's. Without one, redirects are followed.
///
/// A handler is asked about each response with a status code that redirects and a `Location` that can be followed. One
/// without a `Location` is the answer, and one with a `Location` that is no URL of the web ends the request with
/// `.redirect(.invalidLocation)`; nobody is asked then. Where ``Redirector`` with ``Redirector/Behavior/doNotFollow``
/// decides, even that is the answer.
public protocol RedirectHandler: Sendable {
    /// Returns the request to go on with.
    ///
    /// Runs on the global pool, never on the network's loop, and may take its time. When the request is cancelled
    /// meanwhile, the task that runs this is cancelled, and nobody waits for it any longer.
    ///
    /// - Parameters:
    ///   - request: The request that is redirected.
    ///   - newRequest: What would be sent next, with the method, the fields and the body that RFC 9110 §15.4 and the Fetch
    ///     standard leave of it, and without what belongs to the origin that is left.
    ///   - response: The response that redirects.
    /// - Returns: What to send, or `nil` to end with the redirecting response.
    @concurrent
    func request(
        _ request: any Request, willBeRedirectedTo newRequest: HTTPRequest, for response: HTTPResponse
    ) async -> HTTPRequest?
}
