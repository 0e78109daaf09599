import BluebonnetCallbacks
import Foundation
public import FoundationNetworking

/// A type that decides whether redirects are followed.
public protocol RedirectHandler: Sendable {
    /// Decides whether a redirect is followed.
    ///
    /// - Parameters:
    ///   - task: A task that describes the exchange.
    ///   - request: The request to the new URL.
    ///   - response: The head of the redirect.
    ///   - completion: The closure to call once: with the request to send, or with `nil` to receive the redirect as the
    ///     response.
    func task(
        _ task: URLSessionTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void)
}

/// A handler that follows redirects, does not follow redirects, or changes redirects.
public struct Redirector: RedirectHandler {
    /// The way in which redirects are handled.
    public enum Behavior: Sendable {
        /// Redirects are followed.
        case follow
        /// Redirects are not followed; the redirect is the response of the request.
        case doNotFollow
        /// A closure decides.
        case modify(@Sendable (URLSessionTask, URLRequest, HTTPURLResponse) -> URLRequest?)
    }

    /// The way in which redirects are handled.
    public let behavior: Behavior

    /// Creates a handler.
    ///
    /// - Parameter behavior: The way in which redirects are handled.
    public init(behavior: Behavior) { self.behavior = behavior }

    /// Follows, refuses or changes the redirect, as the `behavior` requires.
    public func task(
        _ task: URLSessionTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void
    ) {
        switch behavior {
        case .follow: completion(request)
        case .doNotFollow: completion(nil)
        case .modify(let modify): completion(modify(task, request, response))
        }
    }
}

extension RedirectHandler where Self == Redirector {
    /// A handler that follows redirects.
    public static var follow: Redirector { Redirector(behavior: .follow) }
    /// A handler that does not follow redirects.
    public static var doNotFollow: Redirector { Redirector(behavior: .doNotFollow) }

    /// A handler that calls a closure.
    @preconcurrency public static func modify(
        using closure: @escaping @Sendable (URLSessionTask, URLRequest, HTTPURLResponse) -> URLRequest?
    ) -> Redirector { Redirector(behavior: .modify(closure)) }
}

/// A type that decides whether responses are stored in the session's cache.
public protocol CachedResponseHandler: Sendable {
    /// Decides whether a response is stored.
    ///
    /// - Parameters:
    ///   - task: A task that describes the exchange.
    ///   - response: The response.
    ///   - completion: The closure to call once: with the response to store, or with `nil` to store nothing.
    func dataTask(
        _ task: URLSessionDataTask, willCacheResponse response: CachedURLResponse,
        completion: @escaping @Sendable (CachedURLResponse?) -> Void)
}

/// A handler that stores responses, does not store responses, or changes responses.
public struct ResponseCacher: CachedResponseHandler {
    /// The way in which responses that can be cached are handled.
    public enum Behavior: Sendable {
        /// Responses are stored.
        case cache
        /// Responses are not stored.
        case doNotCache
        /// A closure decides.
        case modify(@Sendable (URLSessionDataTask, CachedURLResponse) -> CachedURLResponse?)
    }

    /// The way in which responses that can be cached are handled.
    public let behavior: Behavior

    /// Creates a handler.
    ///
    /// - Parameter behavior: The way in which responses that can be cached are handled.
    public init(behavior: Behavior) { self.behavior = behavior }

    /// Stores, drops or changes the response, as the `behavior` requires.
    public func dataTask(
        _ task: URLSessionDataTask, willCacheResponse response: CachedURLResponse,
        completion: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        switch behavior {
        case .cache: completion(response)
        case .doNotCache: completion(nil)
        case .modify(let modify): completion(modify(task, response))
        }
    }
}

extension CachedResponseHandler where Self == ResponseCacher {
    /// A handler that stores responses.
    public static var cache: ResponseCacher { ResponseCacher(behavior: .cache) }
    /// A handler that does not store responses.
    public static var doNotCache: ResponseCacher { ResponseCacher(behavior: .doNotCache) }

    /// A handler that calls a closure.
    @preconcurrency public static func modify(
        using closure: @escaping @Sendable (URLSessionDataTask, CachedURLResponse) -> CachedURLResponse?
    ) -> ResponseCacher { ResponseCacher(behavior: .modify(closure)) }
}

// MARK: In Bluebonnet

/// A redirect handler of `Bluebonnet` that calls a handler of the user.
struct RedirectBridge: Bluebonnet.RedirectHandler {
    let handler: any RedirectHandler

    /// Returns a handler that calls a handler of the user; for a handler that refuses every redirect, returns
    /// Bluebonnet's equivalent.
    ///
    /// `Bluebonnet` does not call a handler for a redirect to a scheme other than `http` and `https`. It delivers such
    /// a redirect as the response only if the handler is `Redirector.doNotFollow`.
    static func calling(_ handler: any RedirectHandler) -> any Bluebonnet.RedirectHandler {
        if let redirector = handler as? Redirector, case .doNotFollow = redirector.behavior {
            return Bluebonnet.Redirector.doNotFollow
        }
        return RedirectBridge(handler: handler)
    }

    @concurrent
    func request(
        _ request: any Bluebonnet.Request, willBeRedirectedTo newRequest: HTTPRequest, for response: HTTPResponse
    ) async -> HTTPRequest? {
        let original = URLRequest(newRequest)
        let exchange = AttemptDescription(of: request, request: request.attempts.last ?? newRequest, response: response)
        let task = exchange.task
        let answer = await CompletionWaiter<URLRequest?>.wait(fallback: nil) {
            handler.task(task, willBeRedirectedTo: original, for: response.urlResponse, completion: $0)
        }
        return answer.flatMap { try? newRequest.changed(from: original, to: $0) }
    }
}

extension CachedURLResponse {
    convenience init(_ stored: CachedResponse) {
        self.init(
            response: stored.response.urlResponse, data: stored.data, userInfo: nil,
            storagePolicy: stored.storagePolicy == .memoryOnly ? .allowedInMemoryOnly : .allowed)
    }
}

/// A cache handler of `Bluebonnet` that calls a handler of the user.
struct CacheBridge: Bluebonnet.CachedResponseHandler {
    let handler: any CachedResponseHandler

    @concurrent
    func request(
        _ request: any Bluebonnet.Request, willCacheResponse response: CachedResponse
    ) async -> CachedResponse? {
        guard let sent = request.request else { return response }
        let original = CachedURLResponse(response)
        let task = DataAttemptTask(AttemptDescription(of: request, request: sent, response: response.response))
        let answer = await CompletionWaiter<CachedURLResponse?>.wait(fallback: nil) {
            handler.dataTask(task, willCacheResponse: original, completion: $0)
        }
        guard let answer, answer.storagePolicy != .notAllowed else { return nil }
        let changed = (answer.response as? HTTPURLResponse).flatMap { HTTPResponse($0) }
        return CachedResponse(
            response: answer.response === original.response ? response.response : changed ?? response.response,
            data: answer.data,
            storagePolicy: answer.storagePolicy == .allowedInMemoryOnly ? .memoryOnly : .memoryAndDisk)
    }
}
