import FoundationEssentials

/// A task whose value is made from the response to a ``DataRequest``.
public typealias DataTask<Value: Sendable> = SerializingTask<DataRequest, Value>

/// A task whose value is made from the response to a ``DownloadRequest``.
public typealias DownloadTask<Value: Sendable> = SerializingTask<DownloadRequest, Value>

/// A task whose value is made from the response to a request.
///
/// The `serializing…` methods of ``SerializingRequest`` return such a task. In your code, use the shorter
/// names ``DataTask`` and ``DownloadTask``. The task keeps the value, so you can await it any number of times.
///
/// If a Swift task that awaits the value is cancelled, the request is also cancelled and fails with `.cancelled`. To
/// keep the request running, pass `automaticallyCancelling: false` to the `serializing…` method.
public struct SerializingTask<Source: SerializingRequest, Value: Sendable>: Sendable {
    /// The request whose response is serialized.
    public let request: Source

    private let pending: PendingResult

    init(request: Source, slot: SerializationSlot, automaticallyCancelling: Bool) {
        self.request = request
        pending = PendingResult(request: request, slot: slot, automaticallyCancelling: automaticallyCancelling)
    }

    /// The complete result, with the request, the response, the body or file, the metrics, and the value or the error.
    public var response: SerializedResponse<Source, Value, RequestError> {
        get async { Self.response(from: await pending.get()) }
    }

    /// The value or the error.
    public var result: Result<Value, RequestError> {
        get async { await pending.get().result(Value.self) }
    }

    /// The value.
    ///
    /// If the request fails or the response cannot be serialized, awaiting the value throws a ``RequestError``.
    public var value: Value {
        get async throws(RequestError) { try await pending.get().result(Value.self).get() }
    }

    /// Adds a closure that is called with the response.
    ///
    /// Use this method in code that cannot await the response. The method returns immediately. The closure is called
    /// exactly once, even if the request has already finished. Closures are called in the order in which they were
    /// added.
    ///
    /// If the calling Swift task is cancelled after this call, the request continues. However, if the Swift task is
    /// already cancelled when it calls the `serializing…` method, this call cancels the request. To keep the request
    /// running in this case too, pass `automaticallyCancelling: false` to the `serializing…` method.
    ///
    /// - Parameter handler: A closure that receives the response. It runs on the global executor, or on the preferred
    ///   executor of a task that awaits the same request. It must return quickly and must not block.
    public func onCompletion(_ handler: @escaping @Sendable (SerializedResponse<Source, Value, RequestError>) -> Void) {
        pending.handle { handler(Self.response(from: $0)) }
    }

    // The function is specialized for the most common types, because the lookup of generic types at run time takes
    // longer than the rest of the function.
    #if compiler(>=6.3)
        @specialized(where Source == DataRequest, Value == Data)
        @specialized(where Source == DataRequest, Value == String)
    #endif
    static func response(
        from answer: SerializationSlot.SerializationResult
    ) -> SerializedResponse<Source, Value, RequestError> {
        SerializedResponse(
            attempt: answer.attempt, serializationDuration: answer.duration, result: answer.result(Value.self))
    }

    /// Cancels the request.
    ///
    /// The partial file of a download is kept if the download can be resumed.
    public func cancel() { request.cancel() }

    /// Suspends the request until ``resume()`` is called.
    ///
    /// A suspended request does not receive or send data.
    public func suspend() { request.suspend() }

    /// Starts the request, or resumes it after ``suspend()``.
    public func resume() { request.resume() }

    /// Returns a sequence of the progress of the response body.
    ///
    /// See ``Request/downloadProgressUpdates(bufferingPolicy:)``.
    ///
    /// - Parameter bufferingPolicy: The values to keep for a slow loop; only the latest value by default.
    /// - Returns: The sequence of progress values.
    public func downloadProgressUpdates(
        bufferingPolicy: StreamBufferingPolicy = .latest
    ) -> StreamOf<TransferProgress> {
        request.downloadProgressUpdates(bufferingPolicy: bufferingPolicy)
    }

    /// Returns a sequence of the progress of the request body.
    ///
    /// See ``Request/uploadProgressUpdates(bufferingPolicy:)``.
    ///
    /// - Parameter bufferingPolicy: The values to keep for a slow loop; only the latest value by default.
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
    /// If the partial file is kept and the download can be resumed, the error contains the data for resuming.
    ///
    /// - Parameter producingResumeData: Whether the partial file is kept and resume data is created, if the download
    ///   can be resumed.
    public func cancel(producingResumeData: Bool) { request.cancel(producingResumeData: producingResumeData) }
}

/// The pending result of one serializer, for values of any type.
private struct PendingResult: Sendable {
    let request: any Request
    let slot: SerializationSlot
    let automaticallyCancelling: Bool

    /// Waits for the result.
    func get() async -> SerializationSlot.SerializationResult {
        guard automaticallyCancelling else { return await wait() }
        return await withTaskCancellationHandler {
            // The awaiting task runs the request if possible, so that the request needs no additional task.
            if var loop = request.core.claim() { await loop.run() }
            return await wait()
        } onCancel: {
            request.cancel()
            slot.interrupt()
        }
    }

    /// Calls a closure with the result when it is available, without an awaiting task.
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
    /// Returns the value with the type of the serializer.
    @inline(__always)
    func result<Value: Sendable>(_ type: Value.Type) -> Result<Value, RequestError> {
        switch result {
        // Safety: The slot was created with a serializer of exactly this type.
        case .success(let holder): .success(unsafe unsafeDowncast(holder, to: ValueBox<Value>.self).value)
        case .failure(let error): .failure(error)
        }
    }
}
