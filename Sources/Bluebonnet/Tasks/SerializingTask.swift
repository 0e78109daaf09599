import FoundationEssentials

/// The value that a ``DataRequest`` will deliver.
public typealias DataTask<Value: Sendable> = SerializingTask<DataRequest, Value>

/// The value that a ``DownloadRequest`` will deliver.
public typealias DownloadTask<Value: Sendable> = SerializingTask<DownloadRequest, Value>

/// The value that a request will deliver; it is serialized once, and you can await it any number of times.
///
/// The `serializing…` methods of ``SerializingRequest`` create it. Use the type aliases ``DataTask`` and
/// ``DownloadTask``. If a task that awaits it is cancelled, the request is cancelled and the result is `.cancelled`,
/// unless it was made with `automaticallyCancelling: false`.
public struct SerializingTask<Source: SerializingRequest, Value: Sendable>: Sendable {
    /// The request that delivers the value.
    public let request: Source

    private let pending: PendingResult

    init(request: Source, slot: SerializationSlot, automaticallyCancelling: Bool) {
        self.request = request
        pending = PendingResult(request: request, slot: slot, automaticallyCancelling: automaticallyCancelling)
    }

    /// The complete result: request, response, body or file, metrics, and the value or the error.
    public var response: SerializedResponse<Source, Value, RequestError> {
        get async { Self.response(from: await pending.get()) }
    }

    /// The value or the error.
    public var result: Result<Value, RequestError> {
        get async { await pending.get().result(Value.self) }
    }

    /// The value.
    ///
    /// Awaiting it throws the ``RequestError`` of a request that failed, or of a response that could not be serialized.
    public var value: Value {
        get async throws(RequestError) { try await pending.get().result(Value.self).get() }
    }

    /// Calls a closure with the response, for code that cannot await it.
    ///
    /// This method returns at once. The closure is called exactly once, even if the request has already finished.
    /// Several closures of one task are called in the order in which they were added.
    ///
    /// No task awaits the request for the closure, so the request is only cancelled by its own `cancel()`. If the
    /// caller may be a task that is already cancelled, make this task with `automaticallyCancelling: false`.
    ///
    /// - Parameter handler: A closure that receives the response. It runs on the global pool, or on the executor
    ///   preferred by a task that awaits the same request. It must return quickly and must not block.
    public func onCompletion(_ handler: @escaping @Sendable (SerializedResponse<Source, Value, RequestError>) -> Void) {
        pending.handle { handler(Self.response(from: $0)) }
    }

    // Specialized for the most common types: looking up generic types at run time takes longer than the rest of this
    // function.
    @specialized(where Source == DataRequest, Value == Data)
    @specialized(where Source == DataRequest, Value == String)
    static func response(
        from answer: SerializationSlot.SerializationResult
    ) -> SerializedResponse<Source, Value, RequestError> {
        SerializedResponse(
            attempt: answer.attempt, serializationDuration: answer.duration, result: answer.result(Value.self))
    }

    /// Cancels the request; the partial file of a download is kept, so that the download can be resumed.
    public func cancel() { request.cancel() }

    /// Suspends the request: nothing is read from or written to the network until ``resume()``.
    public func suspend() { request.suspend() }

    /// Starts the request, or resumes it after ``suspend()``.
    public func resume() { request.resume() }

    /// Returns a sequence that reports the progress of the response body; see
    /// ``Request/downloadProgressUpdates(bufferingPolicy:)``.
    ///
    /// - Parameter bufferingPolicy: The values to keep for an observer that falls behind; only the latest by default.
    /// - Returns: The sequence of progress values.
    public func downloadProgressUpdates(
        bufferingPolicy: StreamBufferingPolicy = .latest
    ) -> StreamOf<TransferProgress> {
        request.downloadProgressUpdates(bufferingPolicy: bufferingPolicy)
    }

    /// Returns a sequence that reports the progress of the request body; see
    /// ``Request/uploadProgressUpdates(bufferingPolicy:)``.
    ///
    /// - Parameter bufferingPolicy: The values to keep for an observer that falls behind; only the latest by default.
    /// - Returns: The sequence of progress values.
    public func uploadProgressUpdates(
        bufferingPolicy: StreamBufferingPolicy = .latest
    ) -> StreamOf<TransferProgress> {
        request.uploadProgressUpdates(bufferingPolicy: bufferingPolicy)
    }
}

extension SerializingTask where Source == DownloadRequest {
    /// Cancels the request, and keeps or removes its partial file.
    ///
    /// - Parameter producingResumeData: Whether to keep the partial file and create resume data.
    public func cancel(producingResumeData: Bool) { request.cancel(producingResumeData: producingResumeData) }
}

/// The pending answer of one serializer, whatever the type of its value.
private struct PendingResult: Sendable {
    let request: any Request
    let slot: SerializationSlot
    let automaticallyCancelling: Bool

    /// Waits for the answer.
    func get() async -> SerializationSlot.SerializationResult {
        if let answer = slot.answer { return answer }
        guard automaticallyCancelling else { return await wait() }
        return await withTaskCancellationHandler {
            // The awaiting task drives the request if it can, so the request needs no task of its own.
            if var loop = request.core.claim() { await loop.run() }
            return await wait()
        } onCancel: {
            request.cancel()
            slot.interrupt()
        }
    }

    /// Calls a closure with the answer, although no task awaits the request.
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
    /// The value in an answer; the caller that attached the serializer knows its type.
    @inline(__always)
    func result<Value: Sendable>(_ type: Value.Type) -> Result<Value, RequestError> {
        switch result {
        // Safety: the slot was made with a serializer of exactly this type.
        case .success(let holder): .success(unsafe unsafeDowncast(holder, to: ValueBox<Value>.self).value)
        case .failure(let error): .failure(error)
        }
    }
}
