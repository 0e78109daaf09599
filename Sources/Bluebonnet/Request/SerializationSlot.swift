import FoundationEssentials

/// The place of one attached serializer: the attempt loop fills it, and the awaiting tasks are answered.
///
/// The type of the value is erased, so that the attempt loop serves slots of all types, and serves them without the
/// run-time cost of generic code; ``DataTask`` knows the type and gets it back.
final class SerializationSlot: Sendable {
    /// An answer: how the attempt went, and the value in its box or the error.
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
        /// Called with the answer, in the order in which they were added.
        var handlers: [@Sendable (SerializationResult) -> Void] = []
        /// Whether handlers are being called; the caller then also calls handlers that are added meanwhile.
        var isCalling = false
        /// Ends a serializer that was attached when the request had been answered.
        var interruption: (@Sendable () -> Void)?
        var isInterrupted = false
    }

    private enum Serializer: Sendable {
        case synchronous(@Sendable (SerializerInput) throws(RequestError) -> any AnyValueBox)
        case asynchronous(@Sendable (SerializerInput) async throws(RequestError) -> any AnyValueBox)
    }

    private let serializer: Serializer
    /// The largest file that is read for the serializer; none is when it only wants to know where the file is.
    private let fileReading: FileReading
    private let reportResult: Report?
    private let state = Locked(State())

    /// Says what a serializer gets of a file.
    enum FileReading: Sendable {
        case none
        case whole(limit: Int64?)
    }

    /// Tells the monitors of an answer.
    typealias Report = @Sendable (SerializationResult) -> Void

    init<Value>(_ serializer: PreparedSerializer<Value>, fileReading: FileReading = .none, report: Report? = nil) {
        self.fileReading = fileReading
        reportResult = report
        self.serializer =
            switch serializer {
            case .synchronous(let serialize):
                .synchronous { input throws(RequestError) in ValueBox(try serialize(input)) }
            case .asynchronous(let serialize):
                .asynchronous { input async throws(RequestError) in ValueBox(try await serialize(input)) }
            }
    }

    // MARK: For the attempt loop

    /// Makes the answer of an attempt, without handing it out.
    ///
    /// - Parameters:
    ///   - attempt: The attempt.
    ///   - interruptible: Awaits a serializer that may suspend; returns whether that came to its end.
    func serve(
        _ attempt: CompletedAttempt, interruptible: (@escaping @Sendable () async -> Void) async -> Bool
    ) async {
        if attempt.error != nil { return fail(attempt) }
        let start = MonotonicClock.now()
        switch serializer {
        case .synchronous(let serialize):
            do {
                make(.success(try serialize(try input(of: attempt))), of: attempt, since: start)
            } catch {
                make(.failure(error), of: attempt, since: start)
            }
        case .asynchronous(let serialize):
            let isComplete = await interruptible { [self] in
                do throws(RequestError) {
                    make(.success(try await serialize(try input(of: attempt))), of: attempt, since: start)
                } catch {
                    make(.failure(error), of: attempt, since: start)
                }
            }
            if isComplete { return }
            fail(attempt.cancelled())
        }
    }

    /// Makes the answer of an attempt that failed, without handing it out; replaces an answer that was made before.
    func fail(_ attempt: CompletedAttempt) {
        guard let error = attempt.error else { return }
        let answer = SerializationResult(attempt: attempt, duration: .zero, result: .failure(error))
        _ = state.withLock { state -> Phase in
            if case .delivered = state.phase { return .empty }
            return exchange(&state.phase, with: .made(answer))
        }
    }

    /// Why the serializer failed, if it did.
    var failure: RequestError? {
        state.withLock { state in
            guard case .made(let answer) = state.phase, case .failure(let error) = answer.result else { return nil }
            return error
        }
    }

    /// Forgets an answer that was not handed out, since there will be another attempt.
    func forget() {
        _ = state.withLock { state -> Phase in
            guard case .made = state.phase else { return .empty }
            return exchange(&state.phase, with: .empty)
        }
    }

    /// Tells the monitors, if there are some, of the answer that is about to be handed out.
    func report() {
        guard let reportResult, case .made(let answer) = state.withLock({ $0.phase }) else { return }
        reportResult(answer)
    }

    /// Hands the answer out, to all who wait and all who ask later.
    ///
    /// - Parameter isOnPool: Whether code of the user's may run here.
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

    /// Calls the handlers, and those that are added meanwhile, one after the other.
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
            result: result.mapError { $0.during(attempt.request, attempts: attempt.attempts) })
        // A serializer that continued after the request was cancelled comes too late.
        state.withLock { if case .empty = $0.phase { $0.phase = .made(answer) } }
    }

    /// Keeps what ends the serializer; returns whether it is to be ended now.
    func setInterruption(_ interruption: @escaping @Sendable () -> Void) -> Bool {
        let (isInterrupted, _) = state.withLock { state in
            (state.isInterrupted, exchange(&state.interruption, with: interruption))
        }
        return isInterrupted
    }

    // MARK: For awaiting tasks

    /// Ends the serializer if its request cannot be cancelled any more.
    func interrupt() {
        let interruption = state.withLock { state in
            state.isInterrupted = true
            return state.interruption.take()
        }
        interruption?()
    }

    /// The answer, if it has been handed out.
    var answer: SerializationResult? {
        state.withLock { if case .delivered(let answer) = $0.phase { answer } else { nil } }
    }

    /// Has a closure called with the answer, on the global pool.
    func handle(_ handler: @escaping @Sendable (SerializationResult) -> Void) {
        let answer = state.withLock { state -> SerializationResult? in
            state.handlers.append(handler)
            guard case .delivered(let answer) = state.phase, !state.isCalling else { return nil }
            state.isCalling = true
            return answer
        }
        if let answer { callHandlersInTask(with: answer) }
    }

    /// Waits for the answer.
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

/// Holds a value whose type is erased.
protocol AnyValueBox: AnyObject, Sendable {}

/// Holds a value for callers that know its type.
final class ValueBox<Value: Sendable>: AnyValueBox {
    let value: Value

    init(_ value: Value) { self.value = value }
}
