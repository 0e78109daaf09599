/// A type that decides whether a redirect is followed, and which request is sent next.
///
/// If a request has its own handler, the session's handler is not called. Without a handler, redirects are followed.
///
/// The handler is called for each response that has a redirect status code and a valid `Location`. The redirect status
/// codes are 301, 302, 303, 307 and 308. The handler is not called in two cases:
/// - The response has no `Location`. The response is delivered to the caller.
/// - The `Location` is not an HTTP or HTTPS URL, or the response has several different `Location` fields. The request
///   fails with `.redirect(.invalidLocation)`. However, if the handler is a ``Redirector`` with the behavior
///   ``Redirector/Behavior/doNotFollow``, the response is delivered to the caller.
public protocol RedirectHandler: Sendable {
    /// Returns the request to send next.
    ///
    /// The method runs on the global executor, not on the network's event loop, so it may take time. If the request is
    /// cancelled, the task that runs the method is cancelled and the result of the method is ignored.
    ///
    /// - Parameters:
    ///   - request: The request that received the redirect.
    ///   - newRequest: The request that Bluebonnet proposes to send next. Its method, header fields and body follow RFC
    ///     9110 §15.4 and the Fetch standard. If the redirect leads to another origin, the proposed request does not
    ///     contain the secrets for the previous origin.
    ///   - response: The redirect response.
    /// - Returns: The request to send next; `nil` to deliver the redirect response.
    @concurrent
    func request(
        _ request: any Request, willBeRedirectedTo newRequest: HTTPRequest, for response: HTTPResponse
    ) async -> HTTPRequest?
}

/// A redirect handler that follows all redirects, no redirects, or the redirects that a closure chooses.
public struct Redirector: RedirectHandler {
    /// The ways to handle a redirect.
    public enum Behavior: Sendable {
        /// Follow the redirect.
        case follow
        /// Do not follow the redirect. The redirect response is delivered.
        case doNotFollow
        /// Send the request that a closure returns, or deliver the redirect response if the closure returns `nil`.
        ///
        /// The closure receives the request, the proposed next request and the redirect response. It runs on the global
        /// executor.
        case modify(
            @Sendable (_ request: any Request, _ newRequest: HTTPRequest, _ response: HTTPResponse) async ->
                HTTPRequest?
        )
    }

    /// The way to handle redirects.
    package let behavior: Behavior

    /// Creates a handler.
    ///
    /// - Parameter behavior: The way to handle redirects.
    public init(behavior: Behavior) {
        self.behavior = behavior
    }

    /// Returns the request to send next, according to the behavior.
    ///
    /// - Parameters:
    ///   - request: The request that received the redirect.
    ///   - newRequest: The request that Bluebonnet proposes to send next.
    ///   - response: The redirect response.
    /// - Returns: The request to send next; `nil` to deliver the redirect response.
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
    /// A handler that follows all redirects.
    public static var follow: Redirector { Redirector(behavior: .follow) }

    /// A handler that follows no redirects.
    ///
    /// The redirect response is delivered, even if its `Location` is invalid.
    public static var doNotFollow: Redirector { Redirector(behavior: .doNotFollow) }

    /// Returns a handler that calls a closure to decide about each redirect.
    ///
    /// - Parameter modify: Receives the request, the proposed next request and the redirect response. Returns the
    ///   request to send, or `nil` to deliver the redirect response. Runs on the global executor.
    /// - Returns: A handler that calls the closure.
    public static func modify(
        using modify:
            @escaping @Sendable (
                _ request: any Request, _ newRequest: HTTPRequest, _ response: HTTPResponse
            ) async -> HTTPRequest?
    ) -> Redirector { Redirector(behavior: .modify(modify)) }
}
