import Bluebonnet
import BluebonnetFoundation
public import Dispatch
public import Foundation
public import FoundationNetworking

nonisolated extension Request {
    /// Calls a handler on a queue with the upload progress of the request's body.
    ///
    /// You can add any number of handlers. Each call receives a new `Progress`. If the queue is busy, intermediate
    /// values are skipped, but the last value is always delivered. Response handlers that are added later for the same
    /// serial queue are called after the last call of this handler. Adding a handler does not start the request.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the handler is called.
    ///   - closure: The handler. The `totalUnitCount` of its progress is -1 if the length of the body is not known.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func uploadProgress(
        queue: DispatchQueue, closure: @escaping @Sendable (_ progress: Progress) -> Void
    ) -> Self { watch(uploadProgressUpdates(), on: queue, closure) }
    /// Calls a handler on the main queue with the upload progress; see ``uploadProgress(queue:closure:)``.
    @discardableResult
    public func uploadProgress(closure: @escaping @MainActor (_ progress: Progress) -> Void) -> Self {
        uploadProgress(queue: .main, closure: onMain(closure))
    }

    /// Calls a handler on a queue with the download progress of the response's body; see
    /// ``uploadProgress(queue:closure:)``.
    @discardableResult @preconcurrency public func downloadProgress(
        queue: DispatchQueue, closure: @escaping @Sendable (_ progress: Progress) -> Void
    ) -> Self { watch(downloadProgressUpdates(), on: queue, closure) }
    /// Calls a handler on the main queue with the download progress; see ``downloadProgress(queue:closure:)``.
    @discardableResult
    public func downloadProgress(closure: @escaping @MainActor (_ progress: Progress) -> Void) -> Self {
        downloadProgress(queue: .main, closure: onMain(closure))
    }

    private func watch(
        _ updates: StreamOf<TransferProgress>, on queue: DispatchQueue,
        _ closure: @escaping @Sendable (Progress) -> Void
    ) -> Self {
        let latest = Locked<TransferProgress?>(nil)
        return forEach(in: updates) { value in
            // While a call waits for the queue, only replace its value.
            guard latest.withLock({ exchange(&$0, with: value) }) == nil else { return }
            queue.async {
                guard let value = latest.withLock({ $0.take() }) else { return }
                let progress = Progress(totalUnitCount: value.total ?? -1)
                progress.completedUnitCount = value.completed
                closure(progress)
            }
        }
    }

    /// Calls a handler on a queue with each `URLRequest` that is sent: one for each attempt and one for each redirect.
    ///
    /// Response handlers that are added later for the same serial queue are called after the last call of this handler.
    /// Adding a handler does not start the request.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the handler is called.
    ///   - handler: The handler. It receives the request after all adapters have changed it.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func onURLRequestCreation(
        on queue: DispatchQueue, perform handler: @escaping @Sendable (_ request: URLRequest) -> Void
    ) -> Self { forEach(in: httpRequests()) { request in queue.async { handler(URLRequest(request)) } } }
    /// Calls a handler on the main queue with each `URLRequest` that is sent; see
    /// ``onURLRequestCreation(on:perform:)``.
    @discardableResult
    public func onURLRequestCreation(perform handler: @escaping @MainActor (_ request: URLRequest) -> Void) -> Self {
        onURLRequestCreation(on: .main, perform: onMain(handler))
    }

    /// Calls a handler on a queue with the head of each response, before its body is received.
    ///
    /// The body is received after the handler has returned. Add the handler before the request starts. A handler that
    /// is added later has no effect.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the handler is called.
    ///   - handler: The handler of the response head.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func onHTTPResponse(
        on queue: DispatchQueue, perform handler: @escaping @Sendable (_ response: HTTPURLResponse) -> Void
    ) -> Self {
        onHTTPResponse(on: queue) { response, completion in
            handler(response)
            completion(.allow)
        }
    }
    /// Calls a handler on the main queue with the head of each response, before its body is received.
    ///
    /// The body is received after the handler has returned. Add the handler before the request starts. A handler that
    /// is added later has no effect.
    @discardableResult
    public func onHTTPResponse(perform handler: @escaping @MainActor (_ response: HTTPURLResponse) -> Void) -> Self {
        onHTTPResponse(on: .main, perform: onMain(handler))
    }

    /// Calls a handler on a queue with the head of each response; the handler decides whether the body is received.
    ///
    /// Add the handler before the request starts. A handler that is added later has no effect.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the handler is called.
    ///   - handler: The handler. It receives the response head and a completion handler. Call the completion handler
    ///     with `.allow` to receive the body, or with `.cancel` to cancel the request. Only the first call has an
    ///     effect. If the completion handler is released without a call, the request is cancelled.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func onHTTPResponse(
        on queue: DispatchQueue,
        perform handler:
            @escaping @Sendable (
                _ response: HTTPURLResponse, _ completionHandler: @escaping @Sendable (ResponseDisposition) -> Void
            ) -> Void
    ) -> Self {
        onHTTPResponse { (response: HTTPResponse) async -> ResponseDisposition in
            await CompletionWaiter.wait(fallback: ResponseDisposition.cancel) { completion in
                queue.async { handler(response.urlResponse, completion) }
            }
        }
    }
    /// Calls a handler on the main queue with the head of each response; the handler decides whether the body is
    /// received.
    ///
    /// The handler receives the response head and a completion handler. Call the completion handler with `.allow` to
    /// receive the body, or with `.cancel` to cancel the request. If the completion handler is released without a call,
    /// the request is cancelled. Add the handler before the request starts. A handler that is added later has no
    /// effect.
    @discardableResult public func onHTTPResponse(
        perform handler:
            @escaping @MainActor (
                _ response: HTTPURLResponse, _ completionHandler: @escaping @Sendable (ResponseDisposition) -> Void
            ) -> Void
    ) -> Self { onHTTPResponse(on: .main) { head, completion in onMain { handler($0, completion) }(head) } }

    /// Calls a handler on a queue with a `curl` command for the request, as soon as the HTTP request has been created.
    ///
    /// The command does not contain secrets. Adding a handler does not start the request. If the request ends before
    /// the HTTP request is created, the command shows the request that would have been sent. If no HTTP request can be
    /// created, the handler receives a shell comment instead of a command.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the handler is called.
    ///   - handler: The handler. It is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func cURLDescription(
        on queue: DispatchQueue, calling handler: @escaping @Sendable (_ description: String) -> Void
    ) -> Self {
        let descriptions = cURLDescriptions()
        Task { [weak self] in
            let first = await descriptions.first { _ in true }
            let description = first ?? self?.cURLDescription() ?? "# no request could be created"
            queue.async { handler(description) }
        }
        return self
    }
    /// Calls a handler on a global dispatch queue with the request as a `curl` command; see
    /// ``cURLDescription(on:calling:)``.
    @discardableResult @preconcurrency
    public func cURLDescription(calling handler: @escaping @Sendable (_ description: String) -> Void) -> Self {
        cURLDescription(on: .global(), calling: handler)
    }
}

nonisolated extension Session {
    /// Calls a closure with all unfinished requests of this session that have started or that a task awaits.
    ///
    /// This method returns at once. Requests can begin and end before the closure is called.
    ///
    /// - Parameter action: The closure. It runs on the global executor, and receives the requests in the order of their
    ///   creation.
    @preconcurrency
    public func withAllRequests(perform action: @escaping @Sendable (_ requests: [any Request]) -> Void) {
        Task { await withAllRequests(action) }
    }

    /// Cancels all requests created so far, and calls a closure on a queue when all of them have ended.
    ///
    /// This method returns at once. It does not affect requests that are created later. The closure may be called
    /// before the response handlers of the cancelled requests.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called.
    ///   - completion: The closure, which is called once.
    @preconcurrency
    public func cancelAllRequests(completingOn queue: DispatchQueue, completion: @escaping @Sendable () -> Void) {
        // The task starts immediately, so that it cancels exactly the requests that the caller created before this
        // call.
        Task.immediate {
            await cancelAllRequests()
            queue.async(execute: completion)
        }
    }
    /// Cancels all requests created so far; see ``cancelAllRequests(completingOn:completion:)``.
    ///
    /// - Parameter completion: A closure that is called once on the main queue when the requests have ended; none by
    ///   default.
    public func cancelAllRequests(completion: (@MainActor () -> Void)? = nil) {
        cancelAllRequests(completingOn: .main) { onMain { completion?() }(()) }
    }
}
