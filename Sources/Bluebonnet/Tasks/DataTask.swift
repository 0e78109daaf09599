import FoundationEssentials

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

    /// Has a closure called with the response, for code that cannot await it.
    ///
    /// Returns at once. The closure is called exactly once, whatever happens, also when the response has been there before;
    /// the closures of one task in the order in which they were added. Nobody awaits the request for that, and so nothing
    /// but its own `cancel()` cancels it; make the task with `automaticallyCancelling: false` where the caller may be a
    /// task that is cancelled already.
    ///
    /// - Parameter handler: Gets the response. Runs on the global pool, or on the executor that a task prefers that
    ///   awaits the same request; it must return quickly and not block.
    public func onCompletion(_ handler: @escaping @Sendable (DataResponse<Value, RequestError>) -> Void) {
        pending.handle { handler(Self.response(from: $0)) }
    }

    // For the types that most are of: to ask the runtime for the types of generic code takes longer than all this does.
    @specialized(where Value == Data)
    @specialized(where Value == String)
    private static func response(from answer: SerializationSlot.Answer) -> DataResponse<Value, RequestError> {
        DataResponse(
            attempt: answer.attempt, serializationDuration: answer.duration,
            result: PendingValue<Value>.result(of: answer))
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
