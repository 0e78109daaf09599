import FoundationEssentials

/// A value that a ``DataRequest`` is about to deliver.
public typealias DataTask<Value: Sendable> = SerializingTask<DataRequest, Value>

/// A value that a ``DownloadRequest`` is about to deliver.
public typealias DownloadTask<Value: Sendable> = SerializingTask<DownloadRequest, Value>

/// A value that a request is about to deliver; it is serialized once, and can be awaited any number of times.
///
/// Made by the `serializing…` methods of ``SerializingRequest``; written ``DataTask`` and ``DownloadTask``. Awaiting it in
/// a task that is cancelled cancels the request, and so answers with `.cancelled`, unless it was made with
/// `automaticallyCancelling: false`.
public struct SerializingTask<Source: SerializingRequest, Value: Sendable>: Sendable {
    /// The request that delivers the value.
    public let request: Source

    private let pending: PendingResult

    init(request: Source, slot: SerializationSlot, automaticallyCancelling: Bool) {
        self.request = request
        pending = PendingResult(request: request, slot: slot, automaticallyCancelling: automaticallyCancelling)
    }

    /// Everything about the exchange: request, response, body or file, metrics and the value or the error.
    public var response: SerializedResponse<Source, Value, RequestError> {
        get async { Self.response(from: await pending.get()) }
    }

    /// The value or the error.
    public var result: Result<Value, RequestError> {
        get async { await pending.get().result(Value.self) }
    }

    /// The value.
    ///
    /// Throws the ``RequestError`` that ended the request or kept its response from becoming a value.
    public var value: Value {
        get async throws(RequestError) { try await pending.get().result(Value.self).get() }
    }

    /// Has a closure called with the response, for code that cannot await it.
    ///
    /// Returns at once. The closure is called exactly once, whatever happens, also when the response has been there
    /// before; the closures of one task in the order in which they were added. No task awaits the request for that, so
    /// only its own `cancel()` cancels it; make the task with `automaticallyCancelling: false` where the caller may be
    /// a task that is cancelled already.
    ///
    /// - Parameter handler: Gets the response. Runs on the global pool, or on the executor that a task prefers that
    ///   awaits the same request; it must return quickly and not block.
    public func onCompletion(_ handler: @escaping @Sendable (SerializedResponse<Source, Value, RequestError>) -> Void) {
        pending.handle { handler(Self.response(from: $0)) }
    }

    // For the types that most are of: to ask the runtime for the types of generic code takes longer than all this does.
    @specialized(where Source == DataRequest, Value == Data)
    @specialized(where Source == DataRequest, Value == String)
    static func response(
        from answer: SerializationSlot.SerializationResult
    ) -> SerializedResponse<Source, Value, RequestError> {
        SerializedResponse(
            attempt: answer.attempt, serializationDuration: answer.duration, result: answer.result(Value.self))
    }

    /// Cancels the request; the partial file of a download is kept, to be resumed.
    public func cancel() { request.cancel() }

    /// Holds the request back.
    public func suspend() { request.suspend() }

    /// Starts the request, or lets it go on.
    public func resume() { request.resume() }

    /// Returns the progress of the response's body; see ``Request/downloadProgressUpdates(bufferingPolicy:)``.
    ///
    /// - Parameter bufferingPolicy: Which values are kept for an observer that is behind; the latest by default.
    /// - Returns: The sequence of values.
    public func downloadProgressUpdates(
        bufferingPolicy: StreamBufferingPolicy = .latest
    ) -> StreamOf<TransferProgress> {
        request.downloadProgressUpdates(bufferingPolicy: bufferingPolicy)
    }

    /// Returns the progress of the request's body; see ``Request/uploadProgressUpdates(bufferingPolicy:)``.
    ///
    /// - Parameter bufferingPolicy: Which values are kept for an observer that is behind; the latest by default.
    /// - Returns: The sequence of values.
    public func uploadProgressUpdates(
        bufferingPolicy: StreamBufferingPolicy = .latest
    ) -> StreamOf<TransferProgress> {
        request.uploadProgressUpdates(bufferingPolicy: bufferingPolicy)
    }
}

extension SerializingTask where Source == DownloadRequest {
    /// Cancels the request and says whether its partial file is kept.
    ///
    /// - Parameter producingResumeData: Whether the partial file is kept, and the data to resume with is made.
    public func cancel(producingResumeData: Bool) { request.cancel(producingResumeData: producingResumeData) }
}

/// What the tasks of all kinds await: the answer of one serializer, whatever the type of its value.
private struct PendingResult: Sendable {
    let request: any Request
    let slot: SerializationSlot
    let automaticallyCancelling: Bool

    /// Waits for the answer.
    func get() async -> SerializationSlot.SerializationResult {
        if let answer = slot.answer { return answer }
        guard automaticallyCancelling else { return await wait() }
        return await withTaskCancellationHandler {
            // The awaiting task drives the request if it can, which saves the request a task of its own.
            if var loop = request.core.claim() { await loop.run() }
            return await wait()
        } onCancel: {
            request.cancel()
            slot.interrupt()
        }
    }

    /// Has a closure called with the answer; no task awaits the request.
    func handle(_ handler: @escaping @Sendable (SerializationSlot.SerializationResult) -> Void) {
        request.core.awaitedBeforeStart(request)
        slot.handle(handler)
    }

    private func wait() async -> SerializationSlot.SerializationResult {
        if let answer = slot.answer { return answer }
        request.core.awaitedBeforeStart(request)
        return await slot.wait()
    }
}

extension SerializationSlot.SerializationResult {
    /// The value in an answer; the code that attached the serializer knows its type.
    @inline(__always)
    func result<Value: Sendable>(_ type: Value.Type) -> Result<Value, RequestError> {
        switch result {
        // Safety: the slot was made with a serializer of this very type.
        case .success(let holder): .success(unsafe unsafeDowncast(holder, to: ValueBox<Value>.self).value)
        case .failure(let error): .failure(error)
        }
    }
}
