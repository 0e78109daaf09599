import FoundationEssentials

/// The slot of one attached serializer and its result.
///
/// The attempt loop runs the serializer, and waiting tasks receive the result. The type of the value is erased, so that
/// the attempt loop can run all serializers without the run-time cost of generic code. ``DataTask`` restores the type.
final class SerializationSlot: Sendable {
    /// The result of a serializer, with the attempt and the boxed value or the error.
    struct SerializationResult: Sendable {
        let attempt: CompletedAttempt
        let duration: Duration
        let result: Result<any AnyValueBox, RequestError>
    }

    private struct State {
        /// The result, which is final.
        var delivered: SerializationResult?
        var waiting: [Resumption<Void>] = []
        /// The closures to call with the result, in the order in which they were added.
        var handlers: [@Sendable (SerializationResult) -> Void] = []
        /// Whether handlers are being called.
        ///
        /// Handlers that are added during this time are called by the same caller.
        var isCalling = false
        /// The closure that ends a serializer that was attached after the request had finished.
        var interruption: (@Sendable () -> Void)?
        var isInterrupted = false
    }

    private let serializer: ErasedSerializer
    /// The part of the file that is read for the serializer.
    private let fileReading: FileReading
    private let reportResult: Report?
    private let state = Locked(State())

    /// The part of a file that a serializer receives.
    enum FileReading: Sendable {
        case none
        case whole(limit: Int64?)
    }

    /// A closure that reports a result to the monitors.
    typealias Report = @Sendable (SerializationResult) -> Void

    init<Value>(_ serializer: PreparedSerializer<Value>, fileReading: FileReading = .none, report: Report? = nil) {
        self.fileReading = fileReading
        reportResult = report
        self.serializer = serializer.erased
    }

    // MARK: For the attempt loop

    /// Whether the serializer never suspends.
    var isSynchronous: Bool { if case .synchronous = serializer { true } else { false } }

    /// Returns the result for the response of an attempt.
    ///
    /// - Parameters:
    ///   - attempt: The attempt whose response is serialized.
    ///   - interruptible: A closure that awaits a serializer that may suspend, or returns `nil` if the request is
    ///     cancelled.
    /// - Returns: The result.
    func serve(
        _ attempt: CompletedAttempt,
        interruptible: (@escaping @Sendable () async -> SerializationResult) async -> SerializationResult?
    ) async -> SerializationResult {
        guard attempt.error == nil, case .asynchronous(let serialize) = serializer else { return serve(attempt) }
        let start = MonotonicClock.now()
        let result = await interruptible { [self] in
            do throws(RequestError) {
                return Self.result(.success(try await serialize(try input(of: attempt))), of: attempt, since: start)
            } catch {
                return Self.result(.failure(error), of: attempt, since: start)
            }
        }
        return result ?? SerializationResult(failed: attempt.cancelled())
    }

    /// Returns the result of a serializer that never suspends.
    func serve(_ attempt: CompletedAttempt) -> SerializationResult {
        guard attempt.error == nil, case .synchronous(let serialize) = serializer else {
            return SerializationResult(failed: attempt)
        }
        let start = MonotonicClock.now()
        do throws(RequestError) {
            return Self.result(.success(try serialize(try input(of: attempt))), of: attempt, since: start)
        } catch {
            return Self.result(.failure(error), of: attempt, since: start)
        }
    }

    /// Reports the result to the monitors, before it is delivered.
    func report(_ result: SerializationResult) { reportResult?(result) }

    /// Delivers the result to all tasks that wait now or later.
    ///
    /// - Parameters:
    ///   - result: The result.
    ///   - isOnPool: Whether user code may run on the current thread.
    func deliver(_ result: SerializationResult, isOnPool: Bool = true) {
        let (waiting, calls) = state.withLock { state in
            precondition(state.delivered == nil, "a result was delivered twice")
            state.delivered = result
            state.isCalling = !state.handlers.isEmpty
            return (exchange(&state.waiting, with: []), state.isCalling)
        }
        for continuation in waiting { continuation.resume() }
        guard calls else { return }
        guard isOnPool else { return callHandlersInTask(with: result) }
        callHandlers(with: result)
    }

    /// Calls the handlers one after the other, including handlers that are added during this time.
    private func callHandlers(with answer: SerializationResult) {
        while true {
            let handlers = state.withLock { state in
                state.isCalling = !state.handlers.isEmpty
                return exchange(&state.handlers, with: [])
            }
            if handlers.isEmpty { return }
            for handler in handlers { handler(answer) }
        }
    }

    @inline(never)
    private func callHandlersInTask(with answer: SerializationResult) {
        Task { callHandlers(with: answer) }
    }

    private func input(of attempt: CompletedAttempt) throws(RequestError) -> SerializerInput {
        var data = attempt.data ?? Data()
        if let fileURL = attempt.fileURL, case .whole(let limit) = fileReading {
            data = try DownloadedFile.read(fileURL, limit: limit)
        }
        return SerializerInput(
            request: attempt.request, response: attempt.response, data: data, fileURL: attempt.fileURL)
    }

    private static func result(
        _ result: Result<any AnyValueBox, RequestError>, of attempt: CompletedAttempt, since start: Int64
    ) -> SerializationResult {
        SerializationResult(
            attempt: attempt, duration: .nanoseconds(MonotonicClock.now() - start),
            result: result.mapError { $0.during(attempt.request, attempts: attempt.attempts).after(attempt.response) })
    }

    /// Stores the closure that ends the serializer, and returns whether the serializer must end now.
    func setInterruption(_ interruption: @escaping @Sendable () -> Void) -> Bool {
        let (isInterrupted, _) = state.withLock { state in
            (state.isInterrupted, exchange(&state.interruption, with: interruption))
        }
        return isInterrupted
    }

    // MARK: For awaiting tasks

    /// Ends a serializer that was attached after the request had finished.
    func interrupt() {
        let interruption = state.withLock { state in
            state.isInterrupted = true
            return state.interruption.take()
        }
        interruption?()
    }

    /// The delivered result, or `nil` if no result was delivered.
    var answer: SerializationResult? { state.withLock { $0.delivered } }

    /// Calls a closure with the result when it is delivered.
    func handle(_ handler: @escaping @Sendable (SerializationResult) -> Void) {
        let answer = state.withLock { state -> SerializationResult? in
            state.handlers.append(handler)
            guard let answer = state.delivered, !state.isCalling else { return nil }
            state.isCalling = true
            return answer
        }
        if let answer { callHandlersInTask(with: answer) }
    }

    /// Waits for the result.
    func wait() async -> SerializationResult {
        while true {
            if let answer { return answer }
            await withResumption { continuation in
                let isThere = state.withLock { state in
                    if state.delivered != nil { return true }
                    state.waiting.append(continuation)
                    return false
                }
                if isThere { continuation.resume() }
            }
        }
    }
}

extension SerializationSlot.SerializationResult {
    /// The result for an attempt that has failed, so that its response is not serialized.
    init(failed attempt: CompletedAttempt) {
        guard let error = attempt.error else { preconditionFailure("an attempt without an error has failed") }
        self.init(attempt: attempt, duration: .zero, result: .failure(error))
    }

    var error: RequestError? { if case .failure(let error) = result { error } else { nil } }
}

/// A serializer with its result, which is not delivered yet.
struct ServedSlot: Sendable {
    let slot: SerializationSlot
    let result: SerializationSlot.SerializationResult
}

extension ServedSlot {
    init(_ slot: SerializationSlot, failedWith attempt: CompletedAttempt) {
        self.init(slot: slot, result: SerializationSlot.SerializationResult(failed: attempt))
    }
}
