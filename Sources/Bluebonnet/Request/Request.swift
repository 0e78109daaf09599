import Synchronization

/// A request of a session that you can start, suspend, cancel and observe.
///
/// All members are `nonisolated`, so you can use them from any thread. They return immediately.
///
/// There are three kinds of requests:
///
/// - ``DataRequest`` collects the response body in memory.
/// - ``DataStreamRequest`` delivers the body while it arrives.
/// - ``DownloadRequest`` writes the body to a file.
public protocol Request: Actor, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// An opaque reference to the internal state of this request.
    nonisolated var reference: RequestReference { get }
}

/// An opaque reference to the internal state of a ``Request``.
///
/// Only Bluebonnet uses this type.
public struct RequestReference: Sendable {
    let core: RequestCore
}

extension Request {
    nonisolated var core: RequestCore { reference.core }
}

extension Request {
    /// The identifier of the request, which is unique within the process.
    public nonisolated var id: RequestID { core.id }

    /// The value from which the ``HTTPRequest`` is created, for the first attempt and again for each retry.
    public nonisolated var convertible: any HTTPRequestConvertible { core.convertible }

    /// Returns whether two references refer to the same request.
    public static func == (left: Self, right: Self) -> Bool { left === right }

    /// Hashes the identifier of the request.
    public nonisolated func hash(into hasher: inout Hasher) { hasher.combine(id) }

    // MARK: Control

    /// Starts the request, or resumes it after ``suspend()``.
    ///
    /// Usually, you do not call this method to start a request. Bluebonnet starts the request when you first call a
    /// `serializing…` method, or when you first read a ``DataStreamTask``.
    ///
    /// You must call this method if you have suspended the request, or if the session was created with
    /// `startRequestsImmediately: false`.
    ///
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func resume() -> Self {
        core.resume(self)
        return self
    }

    /// Suspends the request until ``resume()`` is called.
    ///
    /// A suspended request does not receive or send data. The idle timeout does not run during a suspension, but the
    /// total timeout continues to run.
    ///
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func suspend() -> Self {
        core.suspend()
        return self
    }

    /// Cancels the request.
    ///
    /// All tasks that await the request receive the error `.cancelled`. The method has no effect if the request has
    /// already finished.
    ///
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func cancel() -> Self {
        core.cancel()
        return self
    }

    // MARK: State

    /// The state of the request.
    public nonisolated var state: RequestState { core.state }

    /// Whether the request has not been started.
    public nonisolated var isInitialized: Bool { state == .initialized }

    /// Whether the request is running.
    ///
    /// A running request has been started, and is not suspended, cancelled or finished.
    public nonisolated var isResumed: Bool { state == .resumed }

    /// Whether the request is suspended.
    public nonisolated var isSuspended: Bool { state == .suspended }

    /// Whether the request was cancelled.
    public nonisolated var isCancelled: Bool { state == .cancelled }

    /// Whether the request has finished without being cancelled.
    public nonisolated var isFinished: Bool { state == .finished }

    /// The HTTP requests that were sent so far: the first request, and one request for each redirect and each retry.
    public nonisolated var requests: [HTTPRequest] { core.read { $0.record.requests.array } }

    /// The decoder for values of the body, unless you pass a decoder to a call.
    package nonisolated var sessionDecoder: any DataDecoder { core.context.configuration.decoder }

    /// The request of each attempt, before and after its adapters, without the requests of redirects.
    package nonisolated var preparedRequests: [HTTPRequest] { core.read { $0.record.prepared } }

    /// Whether the request starts when its first serializer is attached.
    package nonisolated var startsImmediately: Bool { core.context.startsRequestsImmediately }

    /// The last HTTP request that was sent, or `nil` if no request was sent.
    public nonisolated var request: HTTPRequest? { requests.last }

    /// The head of the response, or `nil` if no response was received.
    ///
    /// For a ``DataRequest`` without an `onHTTPResponse` closure, the head is available when the request has finished.
    /// For other requests, the head is available before the body is received, as soon as the `onHTTPResponse` closures
    /// have accepted the head. For a stream or a download, the validators must also have accepted the head.
    public nonisolated var response: HTTPResponse? {
        core.read { machine in
            let last = machine.record.last?.response
            // The final response has the trailers.
            return machine.isSettled ? last ?? machine.record.response : machine.record.response ?? last
        }
    }

    /// The error of the request, or `nil` if the request has not failed.
    public nonisolated var error: RequestError? { core.read { $0.record.last }?.error }

    /// The metrics of the last HTTP request and its response, or `nil` if they are not available.
    ///
    /// The metrics are available when this request has finished. A retrier can also read the metrics of the failed
    /// attempt. The metrics are `nil` if the network was not used, for example because the cache provided the response.
    public nonisolated var metrics: TransferMetrics? { core.read { $0.record.last }?.metrics }

    /// The number of retries so far.
    public nonisolated var retryCount: Int { core.read { max(0, $0.record.attempts - 1) } }

    /// The progress of the response body, in bytes after content decoding.
    ///
    /// The total is known if the response has a `Content-Length` field and no content coding. With a content coding,
    /// only ``TransferProgress/fractionCompleted`` is known. For a resumed download, the progress includes the bytes of
    /// earlier attempts.
    public nonisolated var downloadProgress: TransferProgress {
        core.read { $0.record.progress } ?? TransferProgress()
    }

    /// Returns a sequence of the progress of the response body.
    ///
    /// The sequence begins with the latest value, if there is one, and ends when the request has finished. By default,
    /// a slow loop over the sequence receives only the latest value. Loops do not start the request or delay it. Any
    /// number of loops can observe a request at the same time.
    ///
    /// - Parameter bufferingPolicy: The values to keep for a slow loop; only the latest value by default.
    /// - Returns: The sequence of progress values.
    public nonisolated func downloadProgressUpdates(
        bufferingPolicy: StreamBufferingPolicy = .latest
    ) -> StreamOf<TransferProgress> {
        core.sequence(\.downloadProgress, bufferingPolicy) { $0.progress }
    }

    /// The progress of the request body, in bytes.
    ///
    /// The progress counts bytes when they are passed to the ``Transport``, which may not have sent all of them yet.
    ///
    /// The total is unknown if the length of the body is not known in advance. Examples are a sequence of unknown
    /// length, a form that contains a sequence of unknown length, and a body that ``DeflateRequestCompressor``
    /// compresses while it is sent.
    public nonisolated var uploadProgress: TransferProgress {
        core.read { $0.record.uploadProgress } ?? TransferProgress()
    }

    /// Returns a sequence of the progress of the request body.
    ///
    /// The sequence begins with the latest value, if there is one, and ends when the request has finished. By default,
    /// a slow loop over the sequence receives only the latest value. Loops do not start the request or delay it. Any
    /// number of loops can observe a request at the same time.
    ///
    /// - Parameter bufferingPolicy: The values to keep for a slow loop; only the latest value by default.
    /// - Returns: The sequence of progress values.
    public nonisolated func uploadProgressUpdates(
        bufferingPolicy: StreamBufferingPolicy = .latest
    ) -> StreamOf<TransferProgress> {
        core.sequence(\.uploadProgress, bufferingPolicy) { $0.uploadProgress }
    }

    // MARK: Messages

    /// Returns a sequence of the HTTP requests that are sent, including redirects and retries.
    ///
    /// The sequence begins with the latest HTTP request, if there is one, and ends when this `Request` has finished. A
    /// loop over the sequence does not start this request.
    ///
    /// - Parameter bufferingPolicy: The values to keep for a slow loop; all values by default.
    /// - Returns: The sequence of requests.
    public nonisolated func httpRequests(
        bufferingPolicy: StreamBufferingPolicy = .unbounded
    ) -> StreamOf<HTTPRequest> {
        core.sequence(\.requests, bufferingPolicy) { $0.requests.last }
    }

    /// Returns a sequence of `curl` commands for the requests of ``httpRequests(bufferingPolicy:)``.
    ///
    /// The sequence begins with the latest HTTP request, if there is one, and ends when this `Request` has finished. A
    /// loop over the sequence does not start this request. ``cURLDescription(revealingSecrets:)`` describes the
    /// commands.
    ///
    /// - Parameters:
    ///   - revealingSecrets: Whether the commands contain secrets instead of placeholders; `false` by default.
    ///   - bufferingPolicy: The values to keep for a slow loop; all values by default.
    /// - Returns: The sequence of commands.
    public nonisolated func cURLDescriptions(
        revealingSecrets: Bool = false, bufferingPolicy: StreamBufferingPolicy = .unbounded
    ) -> StreamOf<String> {
        let defaults = core.context.effectiveHeaders
        return httpRequests(bufferingPolicy: bufferingPolicy).mapped { request in
            request.cURLDescription(defaultHeaders: defaults, revealingSecrets: revealingSecrets)
        }
    }

    /// Returns a sequence of the response heads of the request, including the heads of retries.
    ///
    /// The heads of redirects that are followed are not in the sequence.
    ///
    /// The sequence begins with the latest head, if there is one, and ends when the request has finished. A loop over
    /// the sequence does not start the request. For a ``DataRequest`` without `onHTTPResponse`, a head appears in the
    /// sequence only after the body is complete.
    ///
    /// - Parameter bufferingPolicy: The values to keep for a slow loop; all values by default.
    /// - Returns: The sequence of heads.
    public nonisolated func httpResponses(
        bufferingPolicy: StreamBufferingPolicy = .unbounded
    ) -> StreamOf<HTTPResponse> {
        core.sequence(\.responses, bufferingPolicy) { $0.response ?? $0.last?.response }
    }

    /// Returns a sequence of the informational responses that a server may send before the response (RFC 9110 §15.2).
    ///
    /// An example is 103 (Early Hints), whose ``HTTPResponse/links`` name what the response will refer to (RFC 8297).
    /// Others are 100 (Continue) and 102 (Processing). The sequence also contains those of redirects and retries. It
    /// contains at most the first 1,000 of each HTTP request.
    ///
    /// The sequence begins with the latest informational response, if there is one, and ends when the request has
    /// finished. A loop over the sequence does not start the request.
    ///
    /// ```swift
    /// let request = session.request(url)
    /// Task { for await hint in request.informationalResponses() { preload(hint.links) } }
    /// let page = try await request.serializingString().value
    /// ```
    ///
    /// - Parameter bufferingPolicy: The values to keep for a slow loop; the newest 16 by default.
    /// - Returns: The sequence of informational responses.
    public nonisolated func informationalResponses(
        bufferingPolicy: StreamBufferingPolicy = .newest(16)
    ) -> StreamOf<HTTPResponse> {
        core.sequence(\.informational, bufferingPolicy) { $0.informational }
    }

    /// Adds a closure that decides for each response whether the body is received.
    ///
    /// If there are several closures, they run in the order in which they were added, on the global executor. For a
    /// stream or a download, they run after the validators. If a closure returns `.cancel`, the request is cancelled
    /// and the remaining closures are not called. The closures are not called for redirects that are followed. Call
    /// this method before the request starts.
    ///
    /// - Parameter perform: A closure that receives the head of the response, and returns whether the body is received.
    /// - Returns: This request, for chaining.
    @discardableResult
    // Without this attribute, a closure with several statements and no result would be ambiguous. It must select the
    // other overload.
    @_disfavoredOverload
    public nonisolated func onHTTPResponse(
        _ perform: @escaping @Sendable (_ response: HTTPResponse) async -> ResponseDisposition
    ) -> Self {
        core.configure { $0.headHandlers.append(perform) }
        return self
    }

    /// Adds a closure that is called with the head of each response before the body is received.
    ///
    /// The closure runs on the global executor. The body is received after the closure has returned. The closure is not
    /// called for redirects that are followed. Call this method before the request starts.
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

    /// The request as a `curl` command without secrets, followed by the outcome of the request.
    public nonisolated var debugDescription: String {
        let outcome = error.map { "\($0)" } ?? response.map { "\($0.statusCode)" } ?? "\(state)"
        return "\(cURLDescription())\n# \(outcome)"
    }

    /// The method, the URL without secrets, and the status code if there is a response.
    public nonisolated var description: String {
        guard let request else { return "No request created yet." }
        guard let response else { return request.description }
        return "\(request.description) (\(response.statusCode))"
    }

    /// Returns a `curl` command for the request, which you can paste into bash.
    ///
    /// - Parameter revealingSecrets: Whether the command contains secrets. The default is `false`, which replaces
    ///   secrets with a placeholder.
    /// - Returns: The command, which includes the header fields of the session. If no valid request could be created,
    ///   the result is a shell comment.
    public nonisolated func cURLDescription(revealingSecrets: Bool = false) -> String {
        // A request that was not started may be invalid, and a text that is not a URL cannot be redacted like a URL.
        guard let request = request ?? core.validRequest else { return "# no request could be created" }
        return request.cURLDescription(
            defaultHeaders: core.context.effectiveHeaders, revealingSecrets: revealingSecrets)
    }
}

// MARK: Words

/// The identifier of a request, which is unique within the process.
public struct RequestID: Hashable, Sendable, Described {
    package let number: Int

    private static let last = Atomic<Int>(0)

    static func next() -> RequestID {
        RequestID(number: last.add(1, ordering: .relaxed).newValue)
    }

    /// The number of the request, counted from 1.
    package var text: String { "\(number)" }
}

/// The state of a request.
public enum RequestState: Hashable, Sendable {
    /// The request has not been started.
    case initialized
    /// The request has been started, or resumed after ``Request/suspend()``.
    case resumed
    /// The request is suspended, and does not receive or send data.
    case suspended
    /// The request was cancelled.
    ///
    /// This state is final.
    case cancelled
    /// The request has finished, with a response or with an error other than a cancellation.
    ///
    /// This state is final.
    case finished
}

/// A decision about a response whose head has been received.
public enum ResponseDisposition: Hashable, Sendable {
    /// The body is received.
    case allow
    /// The request is cancelled before any part of the body is delivered.
    case cancel
}

extension Request {
    /// Returns a reader's error with the request added; other errors already contain the request.
    nonisolated func error(_ error: RequestError) -> RequestError {
        error.url == nil ? error.during(request, attempts: retryCount + 1) : error
    }
}
