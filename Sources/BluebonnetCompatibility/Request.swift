public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

// Safety: all stored properties are constants of `Sendable` types. The compiler does not check classes
// that have subclasses.
/// A request with Alamofire's interface.
///
/// A `Request` is a view of a request from the module `Bluebonnet`. The request from `Bluebonnet` does the work, and
/// lives until it has ended. Two views of the same request are equal.
public class Request: @unchecked Sendable {
    /// The state of a request.
    public typealias State = RequestState
    /// The result of a validation.
    public typealias ValidationResult = Result<Void, any Error>
    /// A closure that is called with the progress of a body.
    public typealias ProgressHandler = @Sendable (_ progress: Progress) -> Void
    /// The decision on whether the body of a response is received.
    public typealias ResponseDisposition = BluebonnetCallbacks.ResponseDisposition

    /// The request from the module `Bluebonnet`, which does the work.
    public let base: any Bluebonnet.Request
    /// The identifier of the request.
    public let id: UUID

    /// The latest response, metrics and body that a monitor or a validation has received.
    ///
    /// The request of `Bluebonnet` has them only after the attempt has ended, and forgets them before a retry.
    let latest = Locked<(response: HTTPResponse?, metrics: TransferMetrics?, data: Data?)>((nil, nil, nil))

    init(_ base: any Bluebonnet.Request) {
        self.base = base
        id = UUID(base.id)
        base.tag(ViewTag.self, ViewTag(request: self, isUpload: self is UploadRequest))
    }

    /// A queue for your own work.
    ///
    /// Requests do not use this queue.
    public var underlyingQueue: DispatchQueue { Self.queue }
    /// A queue for your own work.
    ///
    /// Requests do not use this queue.
    public var serializationQueue: DispatchQueue { Self.queue }
    private static let queue = DispatchQueue(label: "bluebonnet.request")

    // MARK: State

    /// The state of the request.
    public var state: State { base.state }
    /// Whether the request has not been started.
    public var isInitialized: Bool { base.isInitialized }
    /// Whether the request is running.
    public var isResumed: Bool { base.isResumed }
    /// Whether the request is suspended.
    public var isSuspended: Bool { base.isSuspended }
    /// Whether the request was cancelled.
    public var isCancelled: Bool { base.isCancelled }
    /// Whether the request has ended without being cancelled.
    public var isFinished: Bool { base.isFinished }
    /// The number of retries so far.
    public var retryCount: Int { base.retryCount }
    /// The error of the request; `nil` if it has not failed.
    public var error: AFError? { base.error.map { AFError($0) } }
    /// The current upload progress of the request's body.
    public var uploadProgress: Progress { Progress(base.uploadProgress) }
    /// The current download progress of the response's body.
    public var downloadProgress: Progress { Progress(base.downloadProgress) }

    // MARK: Messages

    /// The requests of each attempt: the request before the adapters run, and the request after they have run.
    ///
    /// The requests of redirects are not included.
    public var requests: [URLRequest] { base.preparedRequests.map { URLRequest($0) } }
    /// The first request, before its adapters run.
    public var firstRequest: URLRequest? { base.preparedRequests.first.map { URLRequest($0) } }
    /// The latest request.
    ///
    /// If an adapter failed, this request was not sent.
    public var lastRequest: URLRequest? { base.preparedRequests.last.map { URLRequest($0) } }
    /// The latest request.
    ///
    /// If an adapter failed, this request was not sent.
    public var request: URLRequest? { lastRequest }
    /// The requests that were sent, one for each attempt.
    ///
    /// The requests of redirects are not included.
    public var performedRequests: [URLRequest] { base.attempts.map { URLRequest($0) } }
    /// The latest response.
    public var response: HTTPURLResponse? { (base.response ?? latest.withLock(\.response))?.urlResponse }
    /// The metrics of the latest exchange.
    public var metrics: URLSessionTaskMetrics? { base.metrics ?? latest.withLock(\.metrics) }
    /// The metrics of the latest exchange.
    public var lastMetrics: URLSessionTaskMetrics? { metrics }
    /// A task that describes the latest attempt; `nil` until a request is sent.
    public var task: URLSessionTask? { tasks.last }
    /// A task that describes the latest attempt; `nil` until a request is sent.
    public var lastTask: URLSessionTask? { tasks.last }
    /// A task that describes the first attempt; `nil` until a request is sent.
    public var firstTask: URLSessionTask? { tasks.first }
    /// Tasks that describe the attempts.
    ///
    /// A `URLSession` did not create these tasks, but you can suspend, resume and cancel them.
    public var tasks: [URLSessionTask] {
        let requests = base.attempts
        return requests.enumerated().map { number, request in
            AttemptDescription(
                of: base, number: number, request: request,
                response: number == requests.count - 1 ? base.response : nil
            ).task
        }
    }

    // MARK: Control

    /// Starts the request, or continues it after `suspend()`.
    @discardableResult public func resume() -> Self { also { $0.resume() } }

    /// Suspends the request: it sends and receives nothing until `resume()` is called.
    @discardableResult public func suspend() -> Self { also { $0.suspend() } }

    /// Cancels the request.
    ///
    /// If the request has not ended yet, its handlers receive `AFError.explicitlyCancelled`.
    @discardableResult public func cancel() -> Self { also { $0.cancel() } }

    // MARK: Settings

    /// Authenticates with a user name and a password when the server sends a challenge.
    ///
    /// - Parameters:
    ///   - username: The user name.
    ///   - password: The password.
    ///   - persistence: Ignored, because credentials are not stored.
    /// - Returns: This request, for chaining.
    @discardableResult public func authenticate(
        username: String, password: String, persistence: URLCredential.Persistence = .forSession
    ) -> Self { also { $0.authenticate(username: username, password: password) } }

    /// Authenticates with a credential when the server sends a challenge.
    ///
    /// - Parameter credential: The credential. If it has no user name or no password, the request fails.
    /// - Returns: This request, for chaining.
    @discardableResult public func authenticate(with credential: URLCredential) -> Self {
        guard let credential = Credential(credential) else {
            return also { $0.adapt { _, _ in throw UnusableCredential() } }
        }
        return also { $0.authenticate(using: credential) }
    }

    /// Authenticates with a credential when the server sends a challenge; the same as `authenticate(with:)`.
    ///
    /// - Parameter credential: The credential. If it has no user name or no password, the request fails.
    /// - Returns: This request, for chaining.
    @discardableResult public func authenticate(using credential: URLCredential) -> Self {
        authenticate(with: credential)
    }

    /// Sets the redirect handler of this request, which replaces the redirect handler of the session.
    ///
    /// - Parameter handler: The handler.
    /// - Returns: This request, for chaining.
    @discardableResult public func redirect(using handler: any RedirectHandler) -> Self {
        also { $0.redirect(using: RedirectBridge.calling(handler)) }
    }

    /// Sets the cache handler of this request, which replaces the cache handler of the session.
    ///
    /// - Parameter handler: The handler.
    /// - Returns: This request, for chaining.
    @discardableResult public func cacheResponse(using handler: any CachedResponseHandler) -> Self {
        also { $0.cacheResponse(using: CacheBridge(handler: handler)) }
    }

    /// Adds an interceptor.
    ///
    /// - Parameter interceptor: The interceptor.
    /// - Returns: This request, for chaining.
    @discardableResult public func interceptor(_ interceptor: any RequestInterceptor) -> Self {
        also { $0.interceptor(InterceptorBridge.calling(interceptor)) }
    }

    /// Adds an adapter.
    ///
    /// - Parameter adapter: The adapter.
    /// - Returns: This request, for chaining.
    @discardableResult public func adapt(using adapter: any RequestAdapter) -> Self {
        also { $0.interceptor(InterceptorBridge(adapter: adapter, retrier: nil)) }
    }

    /// Adds a retrier.
    ///
    /// - Parameter retrier: The retrier.
    /// - Returns: This request, for chaining.
    @discardableResult public func retry(using retrier: any RequestRetrier) -> Self {
        also { $0.interceptor(InterceptorBridge(adapter: nil, retrier: retrier)) }
    }

    /// Adds a monitor.
    ///
    /// - Parameter eventMonitor: The monitor.
    /// - Returns: This request, for chaining.
    @discardableResult public func eventMonitor(_ eventMonitor: any EventMonitor) -> Self {
        also { $0.eventMonitor(MonitorBridge(monitor: eventMonitor)) }
    }

    // MARK: Validation

    /// Fails the request if the status code of the response is not acceptable.
    ///
    /// - Parameter acceptableStatusCodes: The acceptable status codes.
    /// - Returns: This request, for chaining.
    @discardableResult public func validate<S: Sequence & Sendable>(
        statusCode acceptableStatusCodes: S
    ) -> Self where S.Element == Int { also { $0.validate(statusCode: acceptableStatusCodes) } }

    /// Fails the request if the response has a body, and its content type is missing or not acceptable.
    ///
    /// - Parameter acceptableContentTypes: The acceptable content types, such as `application/json` or `text/*`.
    /// - Returns: This request, for chaining.
    @discardableResult public func validate<S: Sequence & Sendable>(
        contentType acceptableContentTypes: @escaping @Sendable @autoclosure () -> S
    ) -> Self where S.Element == String { also { $0.validate(contentType: acceptableContentTypes()) } }

    /// Fails the request if the status code of the response is not from 200 to 299, or if the `Accept` field of the
    /// request does not allow the content type of the response.
    @discardableResult public func validate() -> Self { also { $0.validate() } }

    // MARK: Handlers

    /// Calls a closure with the upload progress of the request's body.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - closure: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func uploadProgress(
        queue: DispatchQueue = .main, closure: @escaping ProgressHandler
    ) -> Self { also { $0.uploadProgress(queue: queue, closure: closure) } }

    /// Calls a closure with the download progress of the response's body.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - closure: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func downloadProgress(
        queue: DispatchQueue = .main, closure: @escaping ProgressHandler
    ) -> Self { also { $0.downloadProgress(queue: queue, closure: closure) } }

    /// Calls a closure with the request of each attempt, when the request is sent.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - handler: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func onURLRequestCreation(
        on queue: DispatchQueue = .main, perform handler: @escaping @Sendable (URLRequest) -> Void
    ) -> Self {
        also {
            _ = $0.forEach(in: $0.httpRequests()) { request in
                guard !request.isRedirect else { return }
                queue.async { handler(URLRequest(request)) }
            }
        }
    }

    /// Calls a closure with the head of each response; the closure decides whether the body is received.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - handler: The closure. It must call its completion handler once.
    /// - Returns: This request, for chaining.
    @_disfavoredOverload @discardableResult @preconcurrency public func onHTTPResponse(
        on queue: DispatchQueue = .main,
        perform handler:
            @escaping @Sendable (
                _ response: HTTPURLResponse, _ completionHandler: @escaping @Sendable (ResponseDisposition) -> Void
            ) -> Void
    ) -> Self { also { $0.onHTTPResponse(on: queue, perform: handler) } }

    /// Calls a closure with the head of each response.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - handler: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func onHTTPResponse(
        on queue: DispatchQueue = .main, perform handler: @escaping @Sendable (HTTPURLResponse) -> Void
    ) -> Self { also { $0.onHTTPResponse(on: queue, perform: handler) } }

    /// Calls a closure with a task that describes each attempt.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - handler: The closure. You can suspend, resume and cancel the task.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func onURLSessionTaskCreation(
        on queue: DispatchQueue = .main, perform handler: @escaping @Sendable (URLSessionTask) -> Void
    ) -> Self {
        also {
            // A request that never ends, because it does not start, must not be retained.
            _ = $0.forEach(in: $0.httpRequests()) { [weak base] request in
                guard let base, !request.isRedirect else { return }
                queue.async { handler(AttemptDescription(of: base, request: request).task) }
            }
        }
    }

    /// Calls a closure with a `curl` command for the first request, as soon as the request has been created.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called.
    ///   - handler: The closure, which is called once. The command does not contain secrets.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func cURLDescription(
        on queue: DispatchQueue, calling handler: @escaping @Sendable (String) -> Void
    ) -> Self { also { $0.cURLDescription(on: queue, calling: handler) } }

    /// Calls a closure with a `curl` command for the first request, as soon as the request has been created.
    ///
    /// - Parameter handler: The closure. It is called once, on a global queue. The command does not contain secrets.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func cURLDescription(
        calling handler: @escaping @Sendable (String) -> Void
    ) -> Self { also { $0.cURLDescription(calling: handler) } }

    /// Returns a `curl` command for the request.
    ///
    /// The command does not contain secrets.
    public func cURLDescription() -> String { base.cURLDescription() }

    func also(_ change: (any Bluebonnet.Request) -> Void) -> Self {
        change(base)
        return self
    }

    /// Calls a handler with a response; starts the request even if it is suspended, unless the session does not start
    /// requests immediately.
    func respond<Kind, Value: Sendable, Response: Sendable>(
        _ queue: DispatchQueue, _ task: @autoclosure () -> SerializingTask<Kind, Value>,
        _ response: @escaping @Sendable (SerializedResponse<Kind, Value, RequestError>) -> Response,
        _ handler: @escaping @Sendable (Response) -> Void
    ) -> Self {
        _ = base.handle(on: queue, handler) { answer in
            // The user's closures may refer to this object without retaining the object.
            task().onCompletion { answered in withExtendedLifetime(self) { answer(response(answered)) } }
        }
        return resumedIfSuspended()
    }

    /// Resumes a suspended request, because a handler was added; does nothing if the session does not start requests
    /// immediately.
    func resumedIfSuspended() -> Self { isSuspended && base.startsImmediately ? resume() : self }
}

extension Request: Hashable, CustomStringConvertible, CustomDebugStringConvertible, Identifiable {
    /// Returns whether both are views of the same request.
    public static func == (left: Request, right: Request) -> Bool { left.id == right.id }

    /// Hashes the identifier.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }

    /// The method, the URL and the status code.
    public var description: String { base.description }

    /// A `curl` command for the request, and the state of the request.
    public var debugDescription: String { base.debugDescription }
}

/// A tag with which a request of `Bluebonnet` refers to its view.
// A class: Swift 6.3.1 miscompiles optional chains into structures with a weak constant.
final class ViewTag: RequestTag, Sendable {
    typealias Value = ViewTag

    weak let request: Request?
    let isUpload: Bool

    init(request: Request, isUpload: Bool) {
        self.request = request
        self.isUpload = isUpload
    }
}

extension Bluebonnet.Request {
    /// The requests of the attempts, without the requests of redirects.
    nonisolated var attempts: [HTTPRequest] { requests.filter { !$0.isRedirect } }
}

extension Request {
    /// Returns the view that the session returned for a request, or a new view if that view no longer exists.
    static func of(_ base: any Bluebonnet.Request) -> Request {
        let tag = base.tags[ViewTag.self]
        if let request = tag?.request { return request }
        switch base {
        case let data as Bluebonnet.DataRequest:
            return tag?.isUpload == true ? UploadRequest(data) : DataRequest(data)
        case let download as Bluebonnet.DownloadRequest: return DownloadRequest(download)
        case let stream as Bluebonnet.DataStreamRequest: return DataStreamRequest(stream)
        default: return Request(base)
        }
    }
}

private struct UnusableCredential: Error, CustomStringConvertible {
    var description: String { "the URLCredential has no user name and password" }
}

extension UUID {
    /// Creates an identifier from the number of a request and from random bits of this process.
    init(_ id: RequestID) {
        let random = Self.ofProcess.uuid
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: id.number >> (8 * (7 - $0))) }
        self.init(
            uuid: (
                random.0, random.1, random.2, random.3, random.4, random.5, random.6, random.7, bytes[0], bytes[1],
                bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]
            ))
    }

    private static let ofProcess = UUID()
}
