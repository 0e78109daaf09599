/// A value that a request is about to deliver; awaited as often as one likes, serialized once.
///
/// Made by the `serializing…` methods of ``DownloadRequest``. Awaiting it in a task that is cancelled cancels the request,
/// and so answers with `.cancelled`, unless it was made with `automaticallyCancelling: false`.
public struct DownloadTask<Value: Sendable>: Sendable {
    /// The request that delivers the value.
    public let request: DownloadRequest

    private let pending: PendingValue<Value>

    init(request: DownloadRequest, slot: SerializationSlot, automaticallyCancelling: Bool) {
        self.request = request
        pending = PendingValue(request: request, slot: slot, automaticallyCancelling: automaticallyCancelling)
    }

    /// Everything about the exchange: request, response, file, metrics and the value or the error.
    public var response: DownloadResponse<Value, RequestError> {
        get async {
            Self.response(from: await pending.answer())
        }
    }

    /// The value or the error.
    public var result: Result<Value, RequestError> {
        get async { PendingValue<Value>.result(of: await pending.answer()) }
    }

    /// The value.
    ///
    /// Throws the ``RequestError`` that ended the request or kept its response from becoming a value.
    public var value: Value {
        get async throws(RequestError) { try PendingValue<Value>.result(of: await pending.answer()).get() }
    }

    /// Has a closure called with the response, for code that cannot await it; see ``DataTask/onCompletion(_:)``.
    ///
    /// - Parameter handler: Gets the response, exactly once; it must return quickly and not block.
    public func onCompletion(_ handler: @escaping @Sendable (DownloadResponse<Value, RequestError>) -> Void) {
        pending.handle { handler(Self.response(from: $0)) }
    }

    private static func response(from answer: SerializationSlot.Answer) -> DownloadResponse<Value, RequestError> {
        DownloadResponse(
            attempt: answer.attempt, fileURL: answer.attempt.fileURL, resumeData: answer.attempt.resumeData,
            serializationDuration: answer.duration, result: PendingValue<Value>.result(of: answer))
    }

    /// Cancels the request; its partial file is kept, to be resumed.
    public func cancel() { request.cancel() }

    /// Cancels the request and says whether its partial file is kept.
    ///
    /// - Parameter producingResumeData: Whether the partial file is kept, and the data to resume with is made.
    public func cancel(producingResumeData: Bool) { request.cancel(producingResumeData: producingResumeData) }

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
