import BluebonnetCallbacks
import Foundation
public import FoundationNetworking

/// A type that decides about redirects.
public protocol RedirectHandler: Sendable {
    /// Decides about a redirect.
    ///
    /// - Parameters:
    ///   - task: A task that describes the exchange.
    ///   - request: The request to the new place.
    ///   - response: The head of the redirect.
    ///   - completion: The closure to call once, with the request to make, or `nil` to end with this response.
    func task(
        _ task: URLSessionTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void)
}

/// A handler that follows redirects, or does not, or changes them.
public struct Redirector: RedirectHandler {
    /// What happens to redirects.
    public enum Behavior: Sendable {
        /// They are followed.
        case follow
        /// The redirect is the response.
        case doNotFollow
        /// A closure decides.
        case modify(@Sendable (URLSessionTask, URLRequest, HTTPURLResponse) -> URLRequest?)
    }

    /// What happens to redirects.
    public let behavior: Behavior

    /// Creates a handler.
    ///
    /// - Parameter behavior: What happens to redirects.
    public init(behavior: Behavior) { self.behavior = behavior }

    /// Follows the redirect, or does not, or changes it.
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

/// A type that decides about storing responses in the session's cache.
public protocol CachedResponseHandler: Sendable {
    /// Decides about a response.
    ///
    /// - Parameters:
    ///   - task: A task that describes the exchange.
    ///   - response: The response.
    ///   - completion: The closure to call once, with the response to store, or `nil` to store nothing.
    func dataTask(
        _ task: URLSessionDataTask, willCacheResponse response: CachedURLResponse,
        completion: @escaping @Sendable (CachedURLResponse?) -> Void)
}

/// A handler that stores responses, or does not, or changes them.
public struct ResponseCacher: CachedResponseHandler {
    /// What happens to responses that can be cached.
    public enum Behavior: Sendable {
        /// They are stored.
        case cache
        /// They are not stored.
        case doNotCache
        /// A closure decides.
        case modify(@Sendable (URLSessionDataTask, CachedURLResponse) -> CachedURLResponse?)
    }

    /// What happens to responses that can be cached.
    public let behavior: Behavior

    /// Creates a handler.
    ///
    /// - Parameter behavior: What happens to responses that can be cached.
    public init(behavior: Behavior) { self.behavior = behavior }

    /// Stores the response, or does not, or changes it.
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

    /// A handler that calls a handler of the user, or does the same as one that refuses each redirect.
    ///
    /// `Bluebonnet` does not ask about a place with another scheme. It accepts such a response only if no redirect is
    /// to be followed.
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
        let task = ExchangeTask(of: request, request: request.attempts.last ?? newRequest, response: response)
        let answer = await CompletionWaiter<URLRequest?>.wait(fallback: nil) {
            handler.task(task, willBeRedirectedTo: original, for: response.urlResponse, completion: $0)
        }
        return answer.flatMap { try? newRequest.changed(from: original, to: $0) }
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
        let original = CachedURLResponse(
            response: response.response.urlResponse, data: response.data, userInfo: nil,
            storagePolicy: response.storagePolicy == .memoryOnly ? .allowedInMemoryOnly : .allowed)
        let task = ExchangeTask(of: request, request: sent, response: response.response)
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
