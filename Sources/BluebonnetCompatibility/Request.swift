public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

// Safety: all stored properties are constants of `Sendable` types. The compiler does not check classes
// that have subclasses.
/// A request with Alamofire's interface.
///
/// The request is a view of a request of `Bluebonnet`, which does the work and lives as long as it runs. Two views of
/// the same request are equal.
public class Request: @unchecked Sendable {
    /// The state of a request.
    public typealias State = RequestState
    /// The result of a validation.
    public typealias ValidationResult = Result<Void, any Error>
    /// A closure that is called with the progress of a body.
    public typealias ProgressHandler = @Sendable (_ progress: Progress) -> Void
    /// Whether a request continues after its response's head.
    public typealias ResponseDisposition = BluebonnetCallbacks.ResponseDisposition

    /// The request of `Bluebonnet` that does the work.
    public let base: any Bluebonnet.Request
    /// The identifier of the request.
    public let id: UUID

    init(_ base: any Bluebonnet.Request) {
        self.base = base
        id = UUID(base.id)
        base.tag(ViewTag.self, ViewTag(request: self, isUpload: self is UploadRequest))
    }

    /// A queue for the user's own work.
    ///
    /// Requests do not use it.
    public var underlyingQueue: DispatchQueue { Self.queue }
    /// A queue for the user's own work.
    ///
    /// Requests do not use it.
    public var serializationQueue: DispatchQueue { Self.queue }
    private static let queue = DispatchQueue(label: "bluebonnet.request")

    // MARK: State

    /// The state of the request.
    public var state: State { base.state }
    /// Whether the request has not been started.
    public var isInitialized: Bool { base.isInitialized }
    /// Whether the request runs.
    public var isResumed: Bool { base.isResumed }
    /// Whether the request is suspended.
    public var isSuspended: Bool { base.isSuspended }
    /// Whether the request was cancelled.
    public var isCancelled: Bool { base.isCancelled }
    /// Whether the request has ended, other than by being cancelled.
    public var isFinished: Bool { base.isFinished }
    /// The number of retries so far.
    public var retryCount: Int { base.retryCount }
    /// The error of the request; `nil` if it has not failed.
    public var error: AFError? { base.error.map { AFError($0) } }
    /// The progress of the request's body, as it is now.
    public var uploadProgress: Progress { Progress(base.uploadProgress) }
    /// The progress of the response's body, as it is now.
    public var downloadProgress: Progress { Progress(base.downloadProgress) }

    // MARK: Messages

    /// The request of each attempt, before and after its adapters.
    ///
    /// The requests of redirects are not among them.
    public var requests: [URLRequest] { base.preparedRequests.map { URLRequest($0) } }
    /// The first request, before its adapters.
    public var firstRequest: URLRequest? { base.preparedRequests.first.map { URLRequest($0) } }
    /// The latest request, which may not have been made, if an adapter has failed.
    public var lastRequest: URLRequest? { base.preparedRequests.last.map { URLRequest($0) } }
    /// The latest request, which may not have been made, if an adapter has failed.
    public var request: URLRequest? { lastRequest }
    /// The request of each attempt that was made.
    public var performedRequests: [URLRequest] { base.attempts.map { URLRequest($0) } }
    /// The latest response.
    public var response: HTTPURLResponse? { base.response?.urlResponse }
    /// What was measured in the latest exchange.
    public var metrics: URLSessionTaskMetrics? { base.metrics }
    /// What was measured in the latest exchange.
    public var lastMetrics: URLSessionTaskMetrics? { metrics }
    /// A task that describes the latest attempt; `nil` as long as no request was made.
    public var task: URLSessionTask? { tasks.last }
    /// A task that describes the latest attempt; `nil` as long as no request was made.
    public var lastTask: URLSessionTask? { tasks.last }
    /// A task that describes the first attempt; `nil` as long as no request was made.
    public var firstTask: URLSessionTask? { tasks.first }
    /// Tasks that describe the attempts.
    ///
    /// They were not made by a `URLSession`, but can be suspended and cancelled.
    public var tasks: [URLSessionTask] {
        let requests = base.attempts
        return requests.enumerated().map { number, request in
            ExchangeTask(
                of: base, number: number, request: request,
                response: number == requests.count - 1 ? base.response : nil)
        }
    }

    // MARK: Control

    /// Starts the request, or continues it after `suspend()`.
    @discardableResult public func resume() -> Self { also { $0.resume() } }

    /// Stops sending and receiving until `resume()`.
    @discardableResult public func suspend() -> Self { also { $0.suspend() } }

    /// Cancels the request.
    ///
    /// Its handlers are called with `AFError.explicitlyCancelled`.
    @discardableResult public func cancel() -> Self { also { $0.cancel() } }

    // MARK: Settings

    /// Answers challenges for authentication with a name and a password.
    ///
    /// - Parameters:
    ///   - username: The name.
    ///   - password: The password.
    ///   - persistence: Ignored; credentials are not stored.
    /// - Returns: This request, for chaining.
    @discardableResult public func authenticate(
        username: String, password: String, persistence: URLCredential.Persistence = .forSession
    ) -> Self { also { $0.authenticate(username: username, password: password) } }

    /// Answers challenges for authentication with a credential.
    ///
    /// - Parameter credential: The credential. Without a name and a password, the request fails.
    /// - Returns: This request, for chaining.
    @discardableResult public func authenticate(with credential: URLCredential) -> Self {
        guard let credential = Credential(credential) else {
            return also { $0.adapt { _, _ in throw UnusableCredential() } }
        }
        return also { $0.authenticate(using: credential) }
    }

    /// Answers challenges for authentication with a credential; the same as `authenticate(with:)`.
    ///
    /// - Parameter credential: The credential. Without a name and a password, the request fails.
    /// - Returns: This request, for chaining.
    @discardableResult public func authenticate(using credential: URLCredential) -> Self {
        authenticate(with: credential)
    }

    /// Sets the handler of redirects, which replaces that of the session.
    ///
    /// - Parameter handler: The handler.
    /// - Returns: This request, for chaining.
    @discardableResult public func redirect(using handler: any RedirectHandler) -> Self {
        also { $0.redirect(using: RedirectBridge.calling(handler)) }
    }

    /// Sets the handler of responses that can be cached, which replaces that of the session.
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

    /// Fails the request unless its response has one of these status codes.
    ///
    /// - Parameter acceptableStatusCodes: The status codes.
    /// - Returns: This request, for chaining.
    @discardableResult public func validate<S: Sequence & Sendable>(
        statusCode acceptableStatusCodes: S
    ) -> Self where S.Element == Int { also { $0.validate(statusCode: acceptableStatusCodes) } }

    /// Fails the request unless its response has one of these types, or has no body.
    ///
    /// - Parameter acceptableContentTypes: The types, such as `application/json` or `text/*`.
    /// - Returns: This request, for chaining.
    @discardableResult public func validate<S: Sequence & Sendable>(
        contentType acceptableContentTypes: @escaping @Sendable @autoclosure () -> S
    ) -> Self where S.Element == String { also { $0.validate(contentType: acceptableContentTypes()) } }

    /// Fails the request unless its status code is from 200 to 299, and its type is one that the request accepts.
    @discardableResult public func validate() -> Self { also { $0.validate() } }

    // MARK: Handlers

    /// Calls a closure with the progress of the request's body.
    ///
    /// - Parameters:
    ///   - queue: The queue of the calls; the main queue by default.
    ///   - closure: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func uploadProgress(
        queue: DispatchQueue = .main, closure: @escaping ProgressHandler
    ) -> Self { also { $0.uploadProgress(queue: queue, closure: closure) } }

    /// Calls a closure with the progress of the response's body.
    ///
    /// - Parameters:
    ///   - queue: The queue of the calls; the main queue by default.
    ///   - closure: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func downloadProgress(
        queue: DispatchQueue = .main, closure: @escaping ProgressHandler
    ) -> Self { also { $0.downloadProgress(queue: queue, closure: closure) } }

    /// Calls a closure with the request of each attempt.
    ///
    /// - Parameters:
    ///   - queue: The queue of the calls; the main queue by default.
    ///   - handler: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func onURLRequestCreation(
        on queue: DispatchQueue = .main, perform handler: @escaping @Sendable (URLRequest) -> Void
    ) -> Self { onAttempt { _, request in queue.async { handler(URLRequest(request)) } } }

    /// Calls a closure with the head of each response, and asks it whether the request goes on.
    ///
    /// - Parameters:
    ///   - queue: The queue of the calls; the main queue by default.
    ///   - handler: The closure, which calls its completion handler once.
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
    ///   - queue: The queue of the calls; the main queue by default.
    ///   - handler: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func onHTTPResponse(
        on queue: DispatchQueue = .main, perform handler: @escaping @Sendable (HTTPURLResponse) -> Void
    ) -> Self { also { $0.onHTTPResponse(on: queue, perform: handler) } }

    /// Calls a closure with a task that describes each attempt.
    ///
    /// - Parameters:
    ///   - queue: The queue of the calls; the main queue by default.
    ///   - handler: The closure. The task can be suspended and cancelled.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func onURLSessionTaskCreation(
        on queue: DispatchQueue = .main, perform handler: @escaping @Sendable (URLSessionTask) -> Void
    ) -> Self {
        onAttempt { base, request in queue.async { handler(ExchangeTask(of: base, request: request)) } }
    }

    private func onAttempt(
        _ action: @escaping @Sendable (any Bluebonnet.Request, HTTPRequest) -> Void
    ) -> Self {
        also {
            // The sequence ends only when the request is released.
            _ = $0.forEach(in: $0.httpRequests()) { [weak base] request in
                guard let base, !request.isRedirect else { return }
                action(base, request)
            }
        }
    }

    /// Calls a closure with a `curl` command that makes the first request, once it was made.
    ///
    /// - Parameters:
    ///   - queue: The queue of the call.
    ///   - handler: The closure. Secret values in the command are hidden.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func cURLDescription(
        on queue: DispatchQueue, calling handler: @escaping @Sendable (String) -> Void
    ) -> Self { also { $0.cURLDescription(on: queue, calling: handler) } }

    /// Calls a closure with a `curl` command that makes the first request, once it was made.
    ///
    /// - Parameter handler: The closure, which is called on a global queue. Secret values in the command are hidden.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func cURLDescription(
        calling handler: @escaping @Sendable (String) -> Void
    ) -> Self { also { $0.cURLDescription(calling: handler) } }

    /// Returns a `curl` command that makes the request.
    ///
    /// Secret values are hidden.
    public func cURLDescription() -> String { base.cURLDescription() }

    func also(_ change: (any Bluebonnet.Request) -> Void) -> Self {
        change(base)
        return self
    }

    /// Calls a handler with a response, and starts the request, even if it is suspended.
    func respond<Kind, Value: Sendable, Response: Sendable>(
        _ queue: DispatchQueue, _ task: @autoclosure () -> SerializingTask<Kind, Value>,
        _ response: @escaping @Sendable (SerializedResponse<Kind, Value, RequestError>) -> Response,
        _ handler: @escaping @Sendable (Response) -> Void
    ) -> Self {
        _ = base.handle(on: queue, handler) { answer in
            // The user's closures may refer to this object without retaining it.
            task().onCompletion { answered in withExtendedLifetime(self) { answer(response(answered)) } }
        }
        return resumedIfSuspended()
    }

    /// Continues a suspended request, because a handler was added.
    func resumedIfSuspended() -> Self { isSuspended && base.startsImmediately ? resume() : self }
}

extension Request: Hashable, CustomStringConvertible, CustomDebugStringConvertible, Identifiable {
    /// Whether both are views of the same request.
    public static func == (left: Request, right: Request) -> Bool { left.id == right.id }

    /// Hashes the identifier.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }

    /// The method, the URL and the status code.
    public var description: String { base.description }

    /// The request as a `curl` command, and its state.
    public var debugDescription: String { base.debugDescription }
}

/// What a request of `Bluebonnet` remembers of its Alamofire form.
struct ViewTag: RequestTag, Sendable {
    typealias Value = ViewTag

    weak let request: Request?
    let isUpload: Bool
}

extension Bluebonnet.Request {
    /// The requests of the attempts, without those of redirects.
    nonisolated var attempts: [HTTPRequest] { requests.filter { !$0.isRedirect } }
}

extension Request {
    /// Returns the view of a request: the one that the session returned, if it still exists.
    static func of(_ base: any Bluebonnet.Request) -> Request {
        let tag = base.tags[ViewTag.self]
        // Not `tag?.request`, which Swift 6.3.1 may miscompile, because the property is a weak constant.
        if let tag, let request = tag.request { return request }
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
    /// An identifier that is made of the process's own random bits and the number of a request.
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
