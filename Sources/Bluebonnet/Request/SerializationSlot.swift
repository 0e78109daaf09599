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

    private enum Phase {
        case empty
        case made(SerializationResult)
        case delivered(SerializationResult)
    }

    private struct State {
        var phase = Phase.empty
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

    /// Serializes the response of an attempt, without delivering the result.
    ///
    /// - Parameters:
    ///   - attempt: The attempt whose response is serialized.
    ///   - interruptible: A closure that awaits a serializer that may suspend. It returns whether the serializer has
    ///     finished.
    /// - Returns: The error of the result.
    @discardableResult
    func serve(
        _ attempt: CompletedAttempt, interruptible: (@escaping @Sendable () async -> Void) async -> Bool
    ) async -> RequestError? {
        guard attempt.error == nil, case .asynchronous(let serialize) = serializer else { return serve(attempt) }
        let start = MonotonicClock.now()
        let isComplete = await interruptible { [self] in
            do throws(RequestError) {
                make(.success(try await serialize(try input(of: attempt))), of: attempt, since: start)
            } catch {
                make(.failure(error), of: attempt, since: start)
            }
        }
        if !isComplete { fail(attempt.cancelled()) }
        return failure
    }

    /// Serializes the response of an attempt with a serializer that never suspends.
    ///
    /// - Parameter attempt: The attempt whose response is serialized.
    /// - Returns: The error of the result.
    func serve(_ attempt: CompletedAttempt) -> RequestError? {
        guard attempt.error == nil, case .synchronous(let serialize) = serializer else {
            fail(attempt)
            return attempt.error
        }
        let start = MonotonicClock.now()
        do throws(RequestError) {
            make(.success(try serialize(try input(of: attempt))), of: attempt, since: start)
            return nil
        } catch {
            make(.failure(error), of: attempt, since: start)
            return failure
        }
    }

    /// Sets the error of a failed attempt as the result, without delivering it.
    ///
    /// The error replaces an earlier result.
    func fail(_ attempt: CompletedAttempt) {
        guard let error = attempt.error else { return }
        let answer = SerializationResult(attempt: attempt, duration: .zero, result: .failure(error))
        _ = state.withLock { state -> Phase in
            if case .delivered = state.phase { return .empty }
            return exchange(&state.phase, with: .made(answer))
        }
    }

    /// The error of the undelivered result, or `nil` if there is none.
    var failure: RequestError? {
        state.withLock { state in
            guard case .made(let answer) = state.phase, case .failure(let error) = answer.result else { return nil }
            return error
        }
    }

    /// Removes a result that was not delivered, because another attempt follows.
    func forget() {
        _ = state.withLock { state -> Phase in
            guard case .made = state.phase else { return .empty }
            return exchange(&state.phase, with: .empty)
        }
    }

    /// Reports the result to the monitors, before it is delivered.
    func report() {
        guard let reportResult, case .made(let answer) = state.withLock({ $0.phase }) else { return }
        reportResult(answer)
    }

    /// Delivers the result to all tasks that wait now or later.
    ///
    /// - Parameter isOnPool: Whether user code may run on the current thread.
    func deliver(isOnPool: Bool = true) {
        let (waiting, answer) = state.withLock { state in
            guard case .made(let answer) = state.phase else {
                return ([], nil) as ([Resumption<Void>], SerializationResult?)
            }
            state.phase = .delivered(answer)
            state.isCalling = !state.handlers.isEmpty
            defer { state.waiting = [] }
            return (state.waiting, state.isCalling ? answer : nil)
        }
        for continuation in waiting { continuation.resume() }
        guard let answer else { return }
        guard isOnPool else { return callHandlersInTask(with: answer) }
        callHandlers(with: answer)
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

    private func make(
        _ result: Result<any AnyValueBox, RequestError>, of attempt: CompletedAttempt,
        since start: Int64
    ) {
        let answer = SerializationResult(
            attempt: attempt, duration: .nanoseconds(MonotonicClock.now() - start),
            result: result.mapError { $0.during(attempt.request, attempts: attempt.attempts).after(attempt.response) })
        // If the serializer continued after the request was cancelled, its result is ignored.
        state.withLock { if case .empty = $0.phase { $0.phase = .made(answer) } }
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
    var answer: SerializationResult? {
        state.withLock { if case .delivered(let answer) = $0.phase { answer } else { nil } }
    }

    /// Calls a closure with the result when it is delivered.
    func handle(_ handler: @escaping @Sendable (SerializationResult) -> Void) {
        let answer = state.withLock { state -> SerializationResult? in
            state.handlers.append(handler)
            guard case .delivered(let answer) = state.phase, !state.isCalling else { return nil }
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
                    if case .delivered = state.phase { return true }
                    state.waiting.append(continuation)
                    return false
                }
                if isThere { continuation.resume() }
            }
        }
    }
}

/// A box for a value whose type is erased.
protocol AnyValueBox: AnyObject, Sendable {}

/// A box for a value of a known type.
final class ValueBox<Value: Sendable>: AnyValueBox {
    let value: Value

    init(_ value: Value) { self.value = value }
}
