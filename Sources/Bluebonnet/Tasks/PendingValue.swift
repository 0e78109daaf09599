/// What the tasks of all kinds await: the answer of one serializer, as a value of its type.
struct PendingValue<Value: Sendable>: Sendable {
    let request: any Request
    let slot: SerializationSlot
    let automaticallyCancelling: Bool

    /// Waits for the answer.
    func answer() async -> SerializationSlot.Answer {
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

    /// Has a closure called with the answer; the request is nobody's who awaits it.
    func handle(_ handler: @escaping @Sendable (SerializationSlot.Answer) -> Void) {
        request.core.awaitedUnbegun(request)
        slot.handle(handler)
    }

    private func wait() async -> SerializationSlot.Answer {
        if let answer = slot.answer { return answer }
        request.core.awaitedUnbegun(request)
        return await slot.wait()
    }

    /// The value in an answer.
    @inline(__always)
    static func result(of answer: SerializationSlot.Answer) -> Result<Value, RequestError> {
        switch answer.result {
        // Safety: the slot was made with a serializer of this very type.
        case .success(let holder): .success(unsafe unsafeDowncast(holder, to: ValueBox<Value>.self).value)
        case .failure(let error): .failure(error)
        }
    }
}
