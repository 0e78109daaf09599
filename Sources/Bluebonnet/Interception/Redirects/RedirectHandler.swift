/// Decides whether a request follows a redirect, and with which request.
///
/// A request's own handler goes before its session's. Without one, redirects are followed.
///
/// A handler is asked about each response with a status code that redirects and a `Location` that can be followed. A
/// response without a `Location` is the answer, and a `Location` that is not a URL of the web ends the request with
/// `.redirect(.invalidLocation)`; the handler is not asked then. Where ``Redirector`` with
/// ``Redirector/Behavior/doNotFollow`` decides, even such a response is the answer.
public protocol RedirectHandler: Sendable {
    /// Returns the request to follow with.
    ///
    /// Runs on the global pool, never on the network's loop, and may take its time. When the request is cancelled
    /// meanwhile, the task that runs this is cancelled, and its result is ignored.
    ///
    /// - Parameters:
    ///   - request: The request that is redirected.
    ///   - newRequest: What would be sent next, with the method, the fields and the body that RFC 9110 §15.4 and the Fetch
    ///     standard leave of it, and without the secrets of an origin that is left.
    ///   - response: The response that redirects.
    /// - Returns: What to send, or `nil` to end with the redirecting response.
    @concurrent
    func request(
        _ request: any Request, willBeRedirectedTo newRequest: HTTPRequest, for response: HTTPResponse
    ) async -> HTTPRequest?
}

/// Decides about redirects: follows all, none, or those that a closure chooses.
public struct Redirector: RedirectHandler {
    /// What to do with a redirect.
    public enum Behavior: Sendable {
        /// Go where it leads.
        case follow
        /// Stay: the redirecting response is the answer.
        case doNotFollow
        /// Go on with what a closure returns, or stay if that is `nil`.
        ///
        /// It gets the request, what would be sent next, and the response that redirects, and runs on the global pool.
        case modify(
            @Sendable (_ request: any Request, _ newRequest: HTTPRequest, _ response: HTTPResponse) async ->
                HTTPRequest?
        )
    }

    /// What to do with a redirect.
    package let behavior: Behavior

    /// Creates a handler.
    ///
    /// - Parameter behavior: What to do with a redirect.
    public init(behavior: Behavior) {
        self.behavior = behavior
    }

    /// Returns the request to follow with, by the behavior.
    ///
    /// - Parameters:
    ///   - request: The request that is redirected.
    ///   - newRequest: What would be sent next.
    ///   - response: The response that redirects.
    /// - Returns: What to send, or `nil` to end with the redirecting response.
    @concurrent
    public func request(
        _ request: any Request, willBeRedirectedTo newRequest: HTTPRequest, for response: HTTPResponse
    ) async -> HTTPRequest? {
        switch behavior {
        case .follow: newRequest
        case .doNotFollow: nil
        case .modify(let modify): await modify(request, newRequest, response)
        }
    }
}

extension RedirectHandler where Self == Redirector {
    /// A handler that follows redirects.
    public static var follow: Redirector { Redirector(behavior: .follow) }

    /// A handler that follows no redirect: the redirecting response is the answer, wherever it leads.
    public static var doNotFollow: Redirector { Redirector(behavior: .doNotFollow) }

    /// A handler that follows the request returned by a closure, or does not follow if the closure returns `nil`.
    ///
    /// - Parameter modify: Gets the request, what would be sent next, and the response that redirects. Runs on the global
    ///   pool.
    /// - Returns: The handler.
    public static func modify(
        using modify:
            @escaping @Sendable (
                _ request: any Request, _ newRequest: HTTPRequest, _ response: HTTPResponse
            ) async -> HTTPRequest?
    ) -> Redirector { Redirector(behavior: .modify(modify)) }
}
