import Synchronization

/// A request that a session vends: it can be started, held back, cancelled and watched.
///
/// All members are `nonisolated`: they return at once and may be used from anywhere. ``DataRequest`` is the kind for
/// bodies in memory, ``DataStreamRequest`` for those that are read as they come, ``DownloadRequest`` for those in files.
public protocol Request: Actor, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// Leads Bluebonnet to what all kinds of request share.
    nonisolated var reference: RequestReference { get }
}

/// Leads Bluebonnet to what all kinds of request share; opaque to everyone else.
public struct RequestReference: Sendable {
    let core: RequestCore
}

extension Request {
    nonisolated var core: RequestCore { reference.core }
}

extension Request {
    /// Names the request within the process.
    public nonisolated var id: RequestID { core.id }

    /// What the request was made from.
    public nonisolated var convertible: any HTTPRequestConvertible { core.convertible }

    /// Whether two references are to the same request.
    public static func == (left: Self, right: Self) -> Bool { left === right }

    /// Hashes which request it is.
    public nonisolated func hash(into hasher: inout Hasher) { hasher.combine(id) }

    // MARK: Control

    /// Starts the request, or resumes it after ``suspend()``.
    ///
    /// Called for you when the first serializer is attached, or a stream is first read, unless the session was made with
    /// `startRequestsImmediately: false` or the request was suspended before.
    ///
    /// - Returns: The request.
    @discardableResult
    public nonisolated func resume() -> Self {
        core.resume(self)
        return self
    }

    /// Holds the request back: nothing is read from or written to the network until ``resume()``.
    ///
    /// Meanwhile the limit for idle time does not count, and the one for the exchange as a whole does.
    ///
    /// - Returns: The request.
    @discardableResult
    public nonisolated func suspend() -> Self {
        core.suspend()
        return self
    }

    /// Ends the request; all awaiting tasks receive `.cancelled`.
    ///
    /// Does nothing once the request has been answered.
    ///
    /// - Returns: The request.
    @discardableResult
    public nonisolated func cancel() -> Self {
        core.cancel()
        return self
    }

    // MARK: State

    /// Where the request is in its life.
    public nonisolated var state: RequestState { core.state }

    /// Whether the request has not been started.
    public nonisolated var isInitialized: Bool { state == .initialized }

    /// Whether the request is under way.
    public nonisolated var isResumed: Bool { state == .resumed }

    /// Whether the request is held back.
    public nonisolated var isSuspended: Bool { state == .suspended }

    /// Whether the request was cancelled.
    public nonisolated var isCancelled: Bool { state == .cancelled }

    /// Whether the request has been answered.
    public nonisolated var isFinished: Bool { state == .finished }

    /// The requests that were made, one for each attempt and one for each redirect; the latest is the last.
    public nonisolated var requests: [HTTPRequest] { core.machine.withLock { $0.record.requests.array } }

    /// The latest request that was made.
    public nonisolated var request: HTTPRequest? { requests.last }

    /// The head of the response, once the request has been answered; of a stream or a download, once it was accepted.
    public nonisolated var response: HTTPResponse? {
        core.machine.withLock { $0.record.response ?? $0.record.last?.response }
    }

    /// Why the request failed, once it has.
    public nonisolated var error: RequestError? { core.machine.withLock { $0.record.last }?.error }

    /// What was measured of the last exchange, once the request has been answered.
    public nonisolated var metrics: TransferMetrics? { core.machine.withLock { $0.record.last }?.metrics }

    /// How often the request was tried again.
    public nonisolated var retryCount: Int { core.machine.withLock { max(0, $0.record.attempts - 1) } }

    /// How much of the response's body is there, decoded.
    ///
    /// The total is known when the response names it and has no content coding. For a resumed download, the bytes of
    /// earlier attempts count.
    public nonisolated var downloadProgress: TransferProgress {
        core.machine.withLock { $0.record.progress } ?? TransferProgress()
    }

    /// Returns the progress of the response's body, as it changes.
    ///
    /// Begins with the latest value, if there is one, skips values that were not read in time, and ends when the
    /// request does. Watching neither starts nor slows the request, and any number may watch.
    ///
    /// - Parameter bufferingPolicy: Which values are kept for an observer that is behind; the latest by default.
    /// - Returns: The sequence of values.
    public nonisolated func downloadProgressUpdates(
        bufferingPolicy: StreamBufferingPolicy = .latest
    ) -> StreamOf<TransferProgress> {
        core.sequence(\.downloadProgress, bufferingPolicy) { $0.progress }
    }

    /// How much of the request's body was sent.
    ///
    /// Counted when the transport takes the bytes; some may still be on their way. The total is known unless the body is a
    /// sequence of unknown length, or a form with one.
    public nonisolated var uploadProgress: TransferProgress {
        core.machine.withLock { $0.record.uploadProgress } ?? TransferProgress()
    }

    /// Returns the progress of the request's body, as it changes.
    ///
    /// Begins with the latest value, if there is one, skips values that were not read in time, and ends when the
    /// request does. Watching neither starts nor slows the request, and any number may watch.
    ///
    /// - Parameter bufferingPolicy: Which values are kept for an observer that is behind; the latest by default.
    /// - Returns: The sequence of values.
    public nonisolated func uploadProgressUpdates(
        bufferingPolicy: StreamBufferingPolicy = .latest
    ) -> StreamOf<TransferProgress> {
        core.sequence(\.uploadProgress, bufferingPolicy) { $0.uploadProgress }
    }

    // MARK: Messages

    /// Returns the requests that are made, one for each attempt and one for each redirect, as they are.
    ///
    /// Begins with the latest, if there is one, and ends when the request does. Watching does not start the request.
    ///
    /// - Parameter bufferingPolicy: Which values are kept for an observer that is behind; all by default.
    /// - Returns: The sequence of requests.
    public nonisolated func httpRequests(
        bufferingPolicy: StreamBufferingPolicy = .unbounded
    ) -> StreamOf<HTTPRequest> {
        core.sequence(\.requests, bufferingPolicy) { $0.requests.last }
    }

    /// Returns the requests that ``httpRequests(bufferingPolicy:)`` has as `curl` commands; see
    /// ``cURLDescription(revealingSecrets:)``.
    ///
    /// Begins with the latest, if there is one, and ends when the request does. Watching does not start the request.
    ///
    /// - Parameters:
    ///   - revealingSecrets: Whether secrets are shown; `false` by default.
    ///   - bufferingPolicy: Which values are kept for an observer that is behind; all by default.
    /// - Returns: The sequence of commands.
    public nonisolated func cURLDescriptions(
        revealingSecrets: Bool = false, bufferingPolicy: StreamBufferingPolicy = .unbounded
    ) -> StreamOf<String> {
        let defaults = core.context.effectiveHeaders
        return httpRequests(bufferingPolicy: bufferingPolicy).mapped { request in
            request.cURLDescription(defaultHeaders: defaults, revealingSecrets: revealingSecrets)
        }
    }

    /// Returns the heads of the responses, one for each attempt that got one, as soon as they are there.
    ///
    /// Begins with the latest, if there is one, and ends when the request does. Watching does not start the request. For
    /// a ``DataRequest`` without `onHTTPResponse` the head is known when its body is complete.
    ///
    /// - Parameter bufferingPolicy: Which values are kept for an observer that is behind; all by default.
    /// - Returns: The sequence of heads.
    public nonisolated func httpResponses(
        bufferingPolicy: StreamBufferingPolicy = .unbounded
    ) -> StreamOf<HTTPResponse> {
        core.sequence(\.responses, bufferingPolicy) { $0.response ?? $0.last?.response }
    }

    /// Asks a closure about each response before any of its body is received.
    ///
    /// Runs on the global pool, after the validators of a stream or a download. Several closures are asked in the order
    /// in which they were added, until one answers `.cancel`; that ends the request with `.cancelled`. Has an effect on
    /// requests that have not been started.
    ///
    /// - Parameter perform: Gets the head of the response, and says whether its body is wanted.
    /// - Returns: The request.
    @discardableResult
    // A closure of several statements without a value could be meant for both otherwise, and is meant for the other.
    @_disfavoredOverload
    public nonisolated func onHTTPResponse(
        _ perform: @escaping @Sendable (_ response: HTTPResponse) async -> ResponseDisposition
    ) -> Self {
        core.machine.withLock { $0.setup.headHandlers.append(perform) }
        return self
    }

    /// Tells a closure of each response before any of its body is received.
    ///
    /// Runs on the global pool; the body comes when the closure has returned. Has an effect on requests that have not
    /// been started.
    ///
    /// - Parameter perform: Gets the head of the response.
    /// - Returns: The request.
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

    /// The request as a `curl` command, without secrets, and its outcome.
    public nonisolated var debugDescription: String {
        let outcome = error.map { "\($0)" } ?? response.map { "\($0.statusCode)" } ?? "\(state)"
        return "\(cURLDescription())\n# \(outcome)"
    }

    /// The method, the URL without secrets and, once there is one, the status code.
    public nonisolated var description: String {
        guard let request else { return "No request created yet." }
        guard let response else { return request.description }
        return "\(request.description) (\(response.statusCode))"
    }

    /// A `curl` command for the request with the session's fields, to be pasted into a shell.
    ///
    /// - Parameter revealingSecrets: Whether secrets are shown, so that the command does what the request does; `false`
    ///   by default, which shows placeholders.
    /// - Returns: The command, or a comment when no request was made so far.
    public nonisolated func cURLDescription(revealingSecrets: Bool = false) -> String {
        // A request that was not started may be invalid, and text that is not a URL cannot be redacted as a URL.
        guard let request = request ?? core.validRequest else { return "# no request could be created" }
        return request.cURLDescription(
            defaultHeaders: core.context.effectiveHeaders, revealingSecrets: revealingSecrets)
    }
}

// MARK: Words

/// Names a request within the process.
public struct RequestID: Hashable, Sendable, Described {
    let number: UInt64

    private static let last = Atomic<UInt64>(0)

    static func next() -> RequestID {
        RequestID(number: last.add(1, ordering: .relaxed).newValue)
    }

    /// The number of the request, counted from 1.
    package var text: String { "\(number)" }
}

/// Says where a request is in its life.
public enum RequestState: Hashable, Sendable {
    /// Made, and not started.
    case initialized
    /// Started, or resumed after a suspension.
    case resumed
    /// Held back: nothing is read from or written to the network.
    case suspended
    /// Cancelled; final.
    case cancelled
    /// Answered, with a value or an error; final.
    case finished
}

/// Says what happens to a response whose head is there.
public enum ResponseDisposition: Hashable, Sendable {
    /// The body is received.
    case allow
    /// The request is cancelled, before any of the body is delivered.
    case cancel
}
