import FoundationEssentials

/// Delivers the bytes of a streamed body to all readers, with a limit on the waiting bytes.
///
/// The transport writes on its thread, and readers read in their own tasks. They share one lock, which is held only for
/// a short time.
final class BodyFanOut: BodyReceiver {
    typealias ReaderID = BodyFanOutState.ReaderID

    private struct State {
        var body: BodyFanOutState
        var waiting: [(id: ReaderID, continuation: Resumption<Void>)] = []
        /// Resumes the transfer of the body.
        var demand: (@Sendable () -> Void)?
        /// Cancels the request after its last reader has left.
        var cancel: (@Sendable () -> Void)?

        mutating func takeWaiting() -> [Resumption<Void>] {
            defer { waiting.removeAll(keepingCapacity: true) }
            return waiting.map(\.continuation)
        }

        mutating func takeWaiting(_ id: ReaderID) -> Resumption<Void>? {
            guard let index = waiting.firstIndex(where: { $0.id == id }) else { return nil }
            return waiting.remove(at: index).continuation
        }
    }

    private let state: Locked<State>

    /// Creates a body without readers.
    ///
    /// - Parameters:
    ///   - highWatermark: The number of waiting bytes at which the transport pauses.
    ///   - lowWatermark: The number of waiting bytes at which the transport resumes.
    init(highWatermark: Int, lowWatermark: Int) {
        state = Locked(State(body: BodyFanOutState(highWatermark: highWatermark, lowWatermark: lowWatermark)))
    }

    // MARK: For the request

    /// Sets the closure that cancels the request after its last reader has left.
    func onAbandonment(_ cancel: @escaping @Sendable () -> Void) {
        _ = state.withLock { exchange(&$0.cancel, with: cancel) }
    }

    /// Sets the closure that resumes the transfer of the running exchange.
    func onDemand(_ demand: @escaping @Sendable () -> Void) {
        _ = state.withLock { exchange(&$0.demand, with: demand) }
    }

    /// Receives the body of an exchange; `nil` if the exchange has ended.
    func receive(from exchange: (any Exchange)?) {
        guard let exchange else { return }
        onDemand { exchange.receiveMore() }
        exchange.receiveBody(with: self)
    }

    func receive(_ bytes: Data) -> ReceiveAction {
        let (action, waiting) = state.withLock { ($0.body.received(bytes), $0.takeWaiting()) }
        for continuation in waiting { continuation.resume() }
        return action
    }

    /// Ends the body after the bytes received so far, as complete or with an error.
    func finish(with error: RequestError? = nil) {
        let (waiting, _, _) = state.withLock { state in
            state.body.ended(with: error)
            return (state.takeWaiting(), state.demand.take(), state.cancel.take())
        }
        for continuation in waiting { continuation.resume() }
    }

    // MARK: For tasks

    /// A task has requested the head, and may read the body.
    func taskBegan() {
        state.withLock { $0.body.taskBegan() }
    }

    /// A task that could have read the body was released.
    func taskEnded(cancelsRequest: Bool) {
        leave { $0.taskEnded(cancelsRequest: cancelsRequest) }
    }

    // MARK: For readers

    /// Keeps the beginning of the body for a later reader, or returns `nil` if it was already delivered.
    func reserve(cancelsRequest: Bool) -> BodyPlace? {
        guard state.withLock({ $0.body.reserved() }) else { return nil }
        return BodyPlace(in: self, cancelsRequest: cancelsRequest)
    }

    /// Adds a reader of the whole body.
    ///
    /// The reader fails if the beginning of the body was already delivered.
    func join(cancelsRequest: Bool, place: BodyPlace? = nil) -> ReaderID {
        let isInPlace = place?.take() ?? false
        let (id, demand) = state.withLock { state in
            let id = state.body.joined(cancelsRequest: cancelsRequest, inPlace: isInPlace)
            return (id, state.body.continuesForReader() ? state.demand : nil)
        }
        demand?()
        return id
    }

    /// Stops reading.
    func leave(_ id: ReaderID) {
        state.withLock { $0.takeWaiting(id) }?.resume()
        leave { $0.left(id) }
    }

    fileprivate func leave(_ change: (inout BodyFanOutState) -> BodyFanOutState.LeaveAction) {
        let (effect, _): ((@Sendable () -> Void)?, PieceQueue) = state.withLock { state in
            // The pieces are released without the lock, because the bytes of a transport may have a custom deallocator.
            let pieces = state.body.pieces
            return switch change(&state.body) {
            case .nothing: (nil, pieces)
            case .demandMore: (state.demand, pieces)
            case .cancel: (state.cancel, pieces)
            }
        }
        effect?()
    }

    /// Returns the next bytes without waiting, or `nil` if the reader has to wait.
    ///
    /// At the end of the body, the success value is `nil`. A reader whose task is cancelled stops reading, and receives
    /// `.cancelled`.
    func readNow(_ id: ReaderID) -> Result<Data?, RequestError>? {
        guard !Task.isCancelled else {
            leave(id)
            return .failure(RequestError(.cancelled))
        }
        let (action, failure, demand) = state.withLock { state in
            let action = state.body.wanted(by: id)
            return (action, state.body.failure, action.demandsMore ? state.demand : nil)
        }
        demand?()
        switch action {
        case .take(let bytes, _): return .success(bytes)
        case .end: return .success(nil)
        case .fail(let kind): return .failure(failure ?? RequestError(kind))
        case .wait: return nil
        }
    }

    /// Waits for the next bytes, or returns `nil` at the end of the body.
    nonisolated(nonsending) func read(_ id: ReaderID) async throws(RequestError) -> Data? {
        while true {
            if let result = readNow(id) { return try result.get() }
            await waitForChange(id)
        }
    }

    private nonisolated(nonsending) func waitForChange(_ id: ReaderID) async {
        await withTaskCancellationHandler {
            await withResumption { continuation in
                let isReady = state.withLock { state in
                    guard !Task.isCancelled, state.body.hasNothing(for: id) else { return true }
                    state.waiting.append((id, continuation))
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.takeWaiting(id) }?.resume()
        }
    }
}

/// A reserved place for one later reader of a body.
///
/// The beginning of the body is kept until the place is used or released.
final class BodyPlace: Sendable {
    private let body: BodyFanOut
    private let cancelsRequest: Bool
    private let isUsed = OnceFlag()

    fileprivate init(in body: BodyFanOut, cancelsRequest: Bool) {
        self.body = body
        self.cancelsRequest = cancelsRequest
    }

    deinit {
        if !isUsed.isTaken { body.leave { $0.placeLeft(cancelsRequest: cancelsRequest) } }
    }

    /// Uses the place, and returns whether this call was the first.
    fileprivate func take() -> Bool { isUsed.take() }
}

/// One reader of a streamed body; it stops when the last reference to it is released.
final class StreamReader: Sendable {
    let request: DataStreamRequest
    private let id: BodyFanOut.ReaderID

    init(of request: DataStreamRequest, cancelsRequest: Bool, place: BodyPlace?) {
        self.request = request
        id = request.body.join(cancelsRequest: cancelsRequest, place: place)
    }

    deinit {
        leave()
    }

    /// Waits for the next bytes, or returns `nil` at the end of the body.
    ///
    /// The method throws the error of the request.
    nonisolated(nonsending) func next() async throws(RequestError) -> Data? {
        do throws(RequestError) {
            if let result = request.body.readNow(id) { return try result.get() }
            // If the request was not started, its session has to know that a task waits.
            request.core.awaitedBeforeStart(request)
            return try await request.body.read(id)
        } catch {
            throw request.error(error)
        }
    }

    /// Stops reading.
    func leave() {
        request.body.leave(id)
    }
}

/// Converts the bytes of one reader to elements.
@usableFromInline
final class FramedReader<Framer: BodyFramer> {
    let streamReader: StreamReader
    /// Creates the framer when the head is known.
    private let makeFramer: @Sendable (HTTPResponse?) -> Framer
    private var framer: Framer?
    private var isComplete = false
    /// Whether there were monitors when the latest bytes were received.
    @usableFromInline private(set) var isMonitored = false

    init(_ streamReader: StreamReader, makeFramer: @escaping @Sendable (HTTPResponse?) -> Framer) {
        self.streamReader = streamReader
        self.makeFramer = makeFramer
    }

    /// Returns the next element, or `nil` if no element is complete.
    @usableFromInline
    func next() throws(RequestError) -> Framer.Element? { try framer?.next() }

    /// Waits for more bytes or the end of the body, and returns whether there may be more elements.
    nonisolated(nonsending) func receive() async throws(RequestError) -> Bool {
        guard !isComplete else { return false }
        defer { isMonitored = streamReader.request.core.events != nil }
        if let piece = try await streamReader.next() {
            if framer == nil { framer = makeFramer(streamReader.request.response) }
            try framer?.append(piece)
        } else {
            isComplete = true
            try framer?.finish()
        }
        return true
    }

    /// Stops reading.
    @usableFromInline
    func close() {
        isComplete = true
        framer = nil
        streamReader.leave()
    }

    // MARK: For loops

    /// Returns the next element for a loop, or `nil` if no element is complete.
    ///
    /// Reading ends after any error, whether the request has failed or the content is invalid.
    @inlinable
    func nextForLoop() throws(RequestError) -> Framer.Element? {
        do throws(RequestError) {
            guard !Task.isCancelled else { throw cancellation }
            guard let element = try next() else { return nil }
            if isMonitored { report(element) }
            return element
        } catch {
            close()
            throw error
        }
    }

    /// Waits for the next element for a loop; returns `nil` at the end of the body.
    @usableFromInline
    nonisolated(nonsending) func receiveForLoop() async throws(RequestError) -> Framer.Element? {
        do throws(RequestError) {
            while try await receive() {
                if let element = try nextForLoop() { return element }
            }
            return nil
        } catch {
            close()
            throw error
        }
    }

    /// The error for a reader whose Swift task is cancelled.
    @usableFromInline var cancellation: RequestError { streamReader.request.error(RequestError(.cancelled)) }

    @usableFromInline
    func report(_ element: Framer.Element) {
        streamReader.request.core.events?.streamed(Result<_, RequestError>.success(element))
    }
}
