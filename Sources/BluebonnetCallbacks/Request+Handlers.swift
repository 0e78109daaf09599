import Bluebonnet
import BluebonnetFoundation
public import Dispatch
public import Foundation
public import FoundationNetworking

nonisolated extension Request {
    /// Calls a handler on a queue as more of the request's body is sent.
    ///
    /// Any number of handlers may be set; each call has a value of its own, and those that the queue is too slow for are
    /// skipped, but for the last. On a serial queue, all calls are made before that of a response handler which was added
    /// later on the same queue. Watching does not start the request.
    ///
    /// - Parameters:
    ///   - queue: Where the handler is called.
    ///   - closure: Gets how much was sent. `totalUnitCount` is -1 when the total is not known.
    /// - Returns: The request.
    @discardableResult @preconcurrency public func uploadProgress(
        queue: DispatchQueue, closure: @escaping @Sendable (_ progress: Progress) -> Void
    ) -> Self { watch(uploadProgressUpdates(), on: queue, closure) }
    /// As ``uploadProgress(queue:closure:)``, on the main queue.
    @discardableResult
    public func uploadProgress(closure: @escaping @MainActor (_ progress: Progress) -> Void) -> Self {
        uploadProgress(queue: .main, closure: onMain(closure))
    }

    /// Calls a handler on a queue as more of the response's body is received; see ``uploadProgress(queue:closure:)``.
    @discardableResult @preconcurrency public func downloadProgress(
        queue: DispatchQueue, closure: @escaping @Sendable (_ progress: Progress) -> Void
    ) -> Self { watch(downloadProgressUpdates(), on: queue, closure) }
    /// As ``downloadProgress(queue:closure:)``, on the main queue.
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
            // While a call waits for the queue, it only learns what it will be about.
            guard latest.withLock({ exchange(&$0, with: value) }) == nil else { return }
            queue.async {
                guard let value = latest.withLock({ $0.take() }) else { return }
                let progress = Progress(totalUnitCount: value.total ?? -1)
                progress.completedUnitCount = value.completed
                closure(progress)
            }
        }
    }

    /// Calls a handler on a queue with each request that is made, one for each attempt and one for each redirect.
    ///
    /// All calls are made before that of a response handler which was added later on the same serial queue. Watching does
    /// not start the request.
    ///
    /// - Parameters:
    ///   - queue: Where the handler is called.
    ///   - handler: Gets the request, as adapters have left it.
    /// - Returns: The request.
    @discardableResult @preconcurrency public func onURLRequestCreation(
        on queue: DispatchQueue, perform handler: @escaping @Sendable (_ request: URLRequest) -> Void
    ) -> Self { forEach(in: httpRequests()) { request in queue.async { handler(URLRequest(request)) } } }
    /// As ``onURLRequestCreation(on:perform:)``, on the main queue.
    @discardableResult
    public func onURLRequestCreation(perform handler: @escaping @MainActor (_ request: URLRequest) -> Void) -> Self {
        onURLRequestCreation(on: .main, perform: onMain(handler))
    }

    /// Calls a handler on a queue with the head of each response, before any of its body is received.
    ///
    /// The body comes when the handler has returned. Has an effect on requests that have not been started.
    ///
    /// - Parameters:
    ///   - queue: Where the handler is called.
    ///   - handler: Gets the head.
    /// - Returns: The request.
    @discardableResult @preconcurrency public func onHTTPResponse(
        on queue: DispatchQueue, perform handler: @escaping @Sendable (_ response: HTTPURLResponse) -> Void
    ) -> Self {
        onHTTPResponse(on: queue) { response, completion in
            handler(response)
            completion(.allow)
        }
    }
    /// As the form with a queue, on the main queue.
    @discardableResult
    public func onHTTPResponse(perform handler: @escaping @MainActor (_ response: HTTPURLResponse) -> Void) -> Self {
        onHTTPResponse(on: .main, perform: onMain(handler))
    }

    /// Asks a handler on a queue about the head of each response, before any of its body is received.
    ///
    /// Has an effect on requests that have not been started.
    ///
    /// - Parameters:
    ///   - queue: Where the handler is called.
    ///   - handler: Gets the head, and a completion handler to be called with whether the body is wanted; the first call
    ///     counts. One that is dropped without a call says `.cancel`.
    /// - Returns: The request.
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
    /// As the form with a queue, on the main queue.
    @discardableResult public func onHTTPResponse(
        perform handler:
            @escaping @MainActor (
                _ response: HTTPURLResponse, _ completionHandler: @escaping @Sendable (ResponseDisposition) -> Void
            ) -> Void
    ) -> Self { onHTTPResponse(on: .main) { head, completion in onMain { handler($0, completion) }(head) } }

    /// Calls a handler on a queue with the request as a `curl` command, without secrets, once it has been made.
    ///
    /// Does not start the request. If it ends before a request was created, the handler gets the command that the
    /// request would have, or a comment if there is none.
    ///
    /// - Parameters:
    ///   - queue: Where the handler is called.
    ///   - handler: Gets the command, once.
    /// - Returns: The request.
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
    /// As ``cURLDescription(on:calling:)``, on a queue of the system's.
    @discardableResult @preconcurrency
    public func cURLDescription(calling handler: @escaping @Sendable (_ description: String) -> Void) -> Self {
        cURLDescription(on: .global(), calling: handler)
    }
}

nonisolated extension Session {
    /// Calls a closure with the requests that are under way or awaited.
    ///
    /// Returns at once; requests may begin and end before the closure is called.
    ///
    /// - Parameter action: Gets the requests, in the order of their creation; called on the global pool.
    @preconcurrency
    public func withAllRequests(perform action: @escaping @Sendable (_ requests: [any Request]) -> Void) {
        Task { await withAllRequests(action) }
    }

    /// Cancels every request that was made so far, and calls a closure on a queue when all of them have been answered.
    ///
    /// Returns at once. Requests that are made meanwhile go on, and are not waited for. That a request has been answered
    /// does not say that its handlers have been called.
    ///
    /// - Parameters:
    ///   - queue: Where the closure is called.
    ///   - completion: Called once.
    @preconcurrency
    public func cancelAllRequests(completingOn queue: DispatchQueue, completion: @escaping @Sendable () -> Void) {
        // In the caller's order with the requests that it makes before and after this.
        Task.immediate {
            await cancelAllRequests()
            queue.async(execute: completion)
        }
    }
    /// As ``cancelAllRequests(completingOn:completion:)``, on the main queue.
    ///
    /// - Parameter completion: Called once, if there is one.
    public func cancelAllRequests(completion: (@MainActor () -> Void)? = nil) {
        cancelAllRequests(completingOn: .main) { onMain { completion?() }(()) }
    }
}
