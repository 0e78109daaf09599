/// A value that a request is about to deliver; awaited as often as one likes, serialized once.
///
/// Made by the `serializing…` methods of ``DataRequest``. Awaiting it in a task that is cancelled cancels the request,
/// and so answers with `.cancelled`, unless it was made with `automaticallyCancelling: false`.
public struct DataTask<Value: Sendable>: Sendable {
    /// The request that delivers the value.
    public let request: DataRequest

    let slot: SerializationSlot
    let automaticallyCancelling: Bool

    /// Everything about the exchange: request, response, body, metrics and the value or the error.
    public var response: DataResponse<Value, RequestError> {
        get async {
            let answer = await answer()
            return DataResponse(
                attempt: answer.attempt, serializationDuration: answer.duration, result: result(of: answer))
        }
    }

    /// The value or the error.
    public var result: Result<Value, RequestError> {
        get async { result(of: await answer()) }
    }

    /// The value.
    ///
    /// Throws the ``RequestError`` that ended the request or kept its response from becoming a value.
    public var value: Value {
        get async throws(RequestError) { try result(of: await answer()).get() }
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

    private func answer() async -> SerializationSlot.Answer {
        if let answer = slot.answer { return answer }
        guard automaticallyCancelling else { return await wait() }
        return await withTaskCancellationHandler {
            // The awaiting task drives the request if it can, which saves the request a task of its own.
            if request.core.claimDriving() { await request.core.drive() }
            return await wait()
        } onCancel: {
            request.cancel()
            slot.interrupt()
        }
    }

    private func wait() async -> SerializationSlot.Answer {
        if let answer = slot.answer { return answer }
        request.core.awaitedUnbegun(request)
        return await slot.wait()
    }

    private func result(of answer: SerializationSlot.Answer) -> Result<Value, RequestError> {
        answer.result.flatMap { holder in
            // The slot was made with a serializer of this very type.
            guard let box = holder as? ValueBox<Value> else { return .failure(RequestError(.internal)) }
            return .success(box.value)
        }
    }
}
