/// A value that a request is about to deliver; awaited as often as one likes, serialized once.
///
/// Made by the `serializing…` methods of ``DataRequest``. Awaiting it in a task that is cancelled cancels the request,
/// and so answers with `.cancelled`, unless it was made with `automaticallyCancelling: false`.
public struct DataTask<Value: Sendable>: Sendable {
    /// The request that delivers the value.
    public let request: DataRequest

    private let pending: PendingValue<Value>

    init(request: DataRequest, slot: SerializationSlot, automaticallyCancelling: Bool) {
        self.request = request
        pending = PendingValue(request: request, slot: slot, automaticallyCancelling: automaticallyCancelling)
    }

    /// Everything about the exchange: request, response, body, metrics and the value or the error.
    public var response: DataResponse<Value, RequestError> {
        get async {
            let answer = await pending.answer()
            return DataResponse(
                attempt: answer.attempt, serializationDuration: answer.duration, result: pending.result(of: answer))
        }
    }

    /// The value or the error.
    public var result: Result<Value, RequestError> {
        get async { pending.result(of: await pending.answer()) }
    }

    /// The value.
    ///
    /// Throws the ``RequestError`` that ended the request or kept its response from becoming a value.
    public var value: Value {
        get async throws(RequestError) { try pending.result(of: await pending.answer()).get() }
    }

    /// Cancels the request.
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
