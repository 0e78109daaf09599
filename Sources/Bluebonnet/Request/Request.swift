import Synchronization

/// A request of a session, which you can start, suspend, cancel and observe.
///
/// All members are `nonisolated`: you can use them from any thread, and they return at once. There are three kinds:
///
/// - ``DataRequest`` collects the response body in memory.
/// - ``DataStreamRequest`` delivers the body while it arrives.
/// - ``DownloadRequest`` writes the body to a file.
public protocol Request: Actor, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// An opaque reference to the state that all kinds of request share.
    nonisolated var reference: RequestReference { get }
}

/// An opaque reference to the state that all kinds of request share.
public struct RequestReference: Sendable {
    let core: RequestCore
}

extension Request {
    nonisolated var core: RequestCore { reference.core }
}

extension Request {
    /// The identifier of the request, unique within the process.
    public nonisolated var id: RequestID { core.id }

    /// The value that the request is made from, once for each attempt.
    public nonisolated var convertible: any HTTPRequestConvertible { core.convertible }

    /// Returns whether two references refer to the same request.
    public static func == (left: Self, right: Self) -> Bool { left === right }

    /// Hashes the request's `id`.
    public nonisolated func hash(into hasher: inout Hasher) { hasher.combine(id) }

    // MARK: Control

    /// Starts the request, or resumes it after ``suspend()``.
    ///
    /// Bluebonnet calls this when the first serializer is attached or the first reader of a stream begins. It does not
    /// do this if the request was suspended before, or if the session was created with
    /// `startRequestsImmediately: false`.
    ///
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func resume() -> Self {
        core.resume(self)
        return self
    }

    /// Suspends the request: nothing is read from or written to the network until ``resume()``.
    ///
    /// The idle timeout does not run while the request is suspended, but the total timeout does.
    ///
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func suspend() -> Self {
        core.suspend()
        return self
    }

    /// Cancels the request; all awaiting tasks receive `.cancelled`.
    ///
    /// This has no effect on a request that has already finished.
    ///
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func cancel() -> Self {
        core.cancel()
        return self
    }

    // MARK: State

    /// The request's state: initialized, resumed, suspended, cancelled or finished.
    public nonisolated var state: RequestState { core.state }

    /// Whether the request has not been started yet.
    public nonisolated var isInitialized: Bool { state == .initialized }

    /// Whether the request is running: started, and neither suspended nor ended.
    public nonisolated var isResumed: Bool { state == .resumed }

    /// Whether the request is suspended.
    public nonisolated var isSuspended: Bool { state == .suspended }

    /// Whether the request was cancelled.
    public nonisolated var isCancelled: Bool { state == .cancelled }

    /// Whether the request has finished without being cancelled.
    public nonisolated var isFinished: Bool { state == .finished }

    /// The requests made so far, one for each attempt and one for each redirect, in order.
    public nonisolated var requests: [HTTPRequest] { core.machine.withLock { $0.record.requests.array } }

    /// The latest request that was made, or `nil` before the first.
    public nonisolated var request: HTTPRequest? { requests.last }

    /// The head of the response, once the request has finished; `nil` if no response arrived.
    ///
    /// For a stream, for a download, and with `onHTTPResponse`, it is available before the body, as soon as it has been
    /// accepted.
    public nonisolated var response: HTTPResponse? {
        core.machine.withLock { $0.record.response ?? $0.record.last?.response }
    }

    /// The error of a request that failed, or `nil`.
    public nonisolated var error: RequestError? { core.machine.withLock { $0.record.last }?.error }

    /// The metrics of the last exchange, once the request has finished.
    ///
    /// They are `nil` if the exchange never reached the network, or if a cache answered it.
    public nonisolated var metrics: TransferMetrics? { core.machine.withLock { $0.record.last }?.metrics }

    /// The number of retries so far.
    public nonisolated var retryCount: Int { core.machine.withLock { max(0, $0.record.attempts - 1) } }

    /// The progress of the response body, in decoded bytes.
    ///
    /// The total is known if the response states its length and has no content coding. For a resumed download, the
    /// bytes of earlier attempts count.
    public nonisolated var downloadProgress: TransferProgress {
        core.machine.withLock { $0.record.progress } ?? TransferProgress()
    }

    /// Returns a sequence that reports the progress of the response body.
    ///
    /// The sequence begins with the latest value, if there is one, and ends when the request ends. By default, it skips
    /// values that were not read in time. Observing does not start the request or slow it down. There can be any number
    /// of observers.
    ///
    /// - Parameter bufferingPolicy: The values to keep for an observer that falls behind; only the latest by default.
    /// - Returns: The sequence of progress values.
    public nonisolated func downloadProgressUpdates(
        bufferingPolicy: StreamBufferingPolicy = .latest
    ) -> StreamOf<TransferProgress> {
        core.sequence(\.downloadProgress, bufferingPolicy) { $0.progress }
    }

    /// The progress of the request body, in bytes.
    ///
    /// Bytes count as soon as the transport has taken them; some may not have been sent yet. The total is known unless
    /// the body is a sequence of unknown length, or a form that contains one.
    public nonisolated var uploadProgress: TransferProgress {
        core.machine.withLock { $0.record.uploadProgress } ?? TransferProgress()
    }

    /// Returns a sequence that reports the progress of the request body.
    ///
    /// The sequence begins with the latest value, if there is one, and ends when the request ends. By default, it skips
    /// values that were not read in time. Observing does not start the request or slow it down. There can be any number
    /// of observers.
    ///
    /// - Parameter bufferingPolicy: The values to keep for an observer that falls behind; only the latest by default.
    /// - Returns: The sequence of progress values.
    public nonisolated func uploadProgressUpdates(
        bufferingPolicy: StreamBufferingPolicy = .latest
    ) -> StreamOf<TransferProgress> {
        core.sequence(\.uploadProgress, bufferingPolicy) { $0.uploadProgress }
    }

    // MARK: Messages

    /// Returns a sequence of the requests that are made, one for each attempt and one for each redirect.
    ///
    /// The sequence begins with the latest request, if there is one, and ends when this request ends. Observing does
    /// not start the request.
    ///
    /// - Parameter bufferingPolicy: The values to keep for an observer that falls behind; all of them by default.
    /// - Returns: The sequence of requests.
    public nonisolated func httpRequests(
        bufferingPolicy: StreamBufferingPolicy = .unbounded
    ) -> StreamOf<HTTPRequest> {
        core.sequence(\.requests, bufferingPolicy) { $0.requests.last }
    }

    /// Returns a sequence of `curl` commands, one for each request of ``httpRequests(bufferingPolicy:)``.
    ///
    /// The sequence begins with the latest request, if there is one, and ends when this request ends. Observing does
    /// not start the request. See ``cURLDescription(revealingSecrets:)`` for the form of the commands.
    ///
    /// - Parameters:
    ///   - revealingSecrets: Whether the commands contain secrets instead of placeholders; `false` by default.
    ///   - bufferingPolicy: The values to keep for an observer that falls behind; all of them by default.
    /// - Returns: The sequence of commands.
    public nonisolated func cURLDescriptions(
        revealingSecrets: Bool = false, bufferingPolicy: StreamBufferingPolicy = .unbounded
    ) -> StreamOf<String> {
        let defaults = core.context.effectiveHeaders
        return httpRequests(bufferingPolicy: bufferingPolicy).mapped { request in
            request.cURLDescription(defaultHeaders: defaults, revealingSecrets: revealingSecrets)
        }
    }

    /// Returns a sequence of response heads, one for each attempt that receives a response.
    ///
    /// The sequence begins with the latest head, if there is one, and ends when the request ends. Observing does not
    /// start the request. A ``DataRequest`` without `onHTTPResponse` reports the head only when the body is complete.
    ///
    /// - Parameter bufferingPolicy: The values to keep for an observer that falls behind; all of them by default.
    /// - Returns: The sequence of heads.
    public nonisolated func httpResponses(
        bufferingPolicy: StreamBufferingPolicy = .unbounded
    ) -> StreamOf<HTTPResponse> {
        core.sequence(\.responses, bufferingPolicy) { $0.response ?? $0.last?.response }
    }

    /// Adds a closure that allows or cancels each response before its body is received.
    ///
    /// Closures run on the global pool, in the order in which they were added. For a stream or a download, they run
    /// after the validators. If a closure returns `.cancel`, later closures are not called, and the request fails with
    /// `.cancelled`. Call this before the request starts.
    ///
    /// - Parameter perform: A closure that receives the head of the response, and returns whether to receive the body.
    /// - Returns: This request, for chaining.
    @discardableResult
    // Without this attribute, a closure of several statements that returns nothing would be ambiguous between the two
    // overloads; it should select the other one.
    @_disfavoredOverload
    public nonisolated func onHTTPResponse(
        _ perform: @escaping @Sendable (_ response: HTTPResponse) async -> ResponseDisposition
    ) -> Self {
        core.machine.withLock { $0.setup.headHandlers.append(perform) }
        return self
    }

    /// Adds a closure that receives the head of each response before its body is received.
    ///
    /// The closure runs on the global pool, and the body is received after it returns. Call this before the request
    /// starts.
    ///
    /// - Parameter perform: A closure that receives the head of the response.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func onHTTPResponse(
        _ perform: @escaping @Sendable (_ response: HTTPResponse) async -> Void
    ) -> Self {
        onHTTPResponse { response in
            await perform(response)
            return .allow
        }
    }

    // MARK: Descriptions

    /// The request as a `curl` command without secrets, followed by its outcome.
    public nonisolated var debugDescription: String {
        let outcome = error.map { "\($0)" } ?? response.map { "\($0.statusCode)" } ?? "\(state)"
        return "\(cURLDescription())\n# \(outcome)"
    }

    /// The method, the URL without secrets and, if there is a response, the status code.
    public nonisolated var description: String {
        guard let request else { return "No request created yet." }
        guard let response else { return request.description }
        return "\(request.description) (\(response.statusCode))"
    }

    /// Returns a `curl` command for the request, including the session's header fields, that you can paste into a
    /// shell.
    ///
    /// - Parameter revealingSecrets: Whether the command contains secrets. With `false`, the default, it contains
    ///   placeholders instead, so it does not do exactly what the request does.
    /// - Returns: The command, or a shell comment if no request could be made.
    public nonisolated func cURLDescription(revealingSecrets: Bool = false) -> String {
        // A request that was not started may be invalid, and text that is not a URL cannot be redacted as a URL.
        guard let request = request ?? core.validRequest else { return "# no request could be created" }
        return request.cURLDescription(
            defaultHeaders: core.context.effectiveHeaders, revealingSecrets: revealingSecrets)
    }
}

// MARK: Words

/// The identifier of a request, unique within the process.
public struct RequestID: Hashable, Sendable, Described {
    let number: UInt64

    private static let last = Atomic<UInt64>(0)

    static func next() -> RequestID {
        RequestID(number: last.add(1, ordering: .relaxed).newValue)
    }

    /// The number of the request, counted from 1.
    package var text: String { "\(number)" }
}

/// The state of a request.
public enum RequestState: Hashable, Sendable {
    /// Created, but not started.
    case initialized
    /// Started, or resumed after ``Request/suspend()``.
    case resumed
    /// Suspended: nothing is read from or written to the network.
    case suspended
    /// Cancelled; this state is final.
    case cancelled
    /// Finished, with a value or with an error other than a cancellation; this state is final.
    case finished
}

/// The decision about a response whose head has arrived.
public enum ResponseDisposition: Hashable, Sendable {
    /// Receive the body.
    case allow
    /// Cancel the request before any of the body is delivered.
    case cancel
}
