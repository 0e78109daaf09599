/// A type that decides whether a request follows a redirect, and which request is sent next.
///
/// A request's own handler replaces the session's handler. Without a handler, redirects are followed.
///
/// The handler is called for each response with a redirecting status code and a `Location` that can be followed. It is
/// not called in two cases:
/// - A response without a `Location` is delivered to the caller.
/// - If the `Location` is not an HTTP or HTTPS URL, or is repeated with different values, the request fails with
///   `.redirect(.invalidLocation)`. With the ``Redirector/Behavior/doNotFollow`` behavior of ``Redirector``, such a
///   response is delivered to the caller instead.
public protocol RedirectHandler: Sendable {
    /// Returns the request to send next.
    ///
    /// Runs on the global pool, never on the network's event loop, so it may take its time. If the request is
    /// cancelled, the task that runs this method is cancelled and its result is ignored.
    ///
    /// - Parameters:
    ///   - request: The request that received the redirect.
    ///   - newRequest: The proposed next request. Its method, header fields and body follow RFC 9110 §15.4 and the
    ///     Fetch standard. If the redirect leads to another origin, the secrets of the previous origin are removed.
    ///   - response: The redirecting response.
    /// - Returns: The request to send next, or `nil` to deliver the redirecting response.
    @concurrent
    func request(
        _ request: any Request, willBeRedirectedTo newRequest: HTTPRequest, for response: HTTPResponse
    ) async -> HTTPRequest?
}

/// A redirect handler that follows all redirects, none, or those that a closure chooses.
public struct Redirector: RedirectHandler {
    /// The ways to handle a redirect.
    public enum Behavior: Sendable {
        /// Follow the redirect.
        case follow
        /// Do not follow the redirect; the redirecting response is delivered.
        case doNotFollow
        /// Send the request that a closure returns, or deliver the redirecting response if the closure returns `nil`.
        ///
        /// The closure receives the request, the proposed next request and the redirecting response. It runs on the
        /// global pool.
        case modify(
            @Sendable (_ request: any Request, _ newRequest: HTTPRequest, _ response: HTTPResponse) async ->
                HTTPRequest?
        )
    }

    /// The way redirects are handled.
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
    ///   - newRequest: The proposed next request.
    ///   - response: The redirecting response.
    /// - Returns: The request to send next, or `nil` to deliver the redirecting response.
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
    /// The redirecting response is delivered, even if its `Location` is invalid.
    public static var doNotFollow: Redirector { Redirector(behavior: .doNotFollow) }

    /// A handler that sends the request returned by a closure, or does not follow the redirect if the closure returns
    /// `nil`.
    ///
    /// - Parameter modify: Receives the request, the proposed next request and the redirecting response, and returns
    ///   the request to send. Runs on the global pool.
    /// - Returns: A handler that calls the closure.
    public static func modify(
        using modify:
            @escaping @Sendable (
                _ request: any Request, _ newRequest: HTTPRequest, _ response: HTTPResponse
            ) async -> HTTPRequest?
    ) -> Redirector { Redirector(behavior: .modify(modify)) }
}
