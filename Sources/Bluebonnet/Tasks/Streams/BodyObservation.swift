import FoundationEssentials

/// One reader of a streamed body; stops reading when the last reference to it goes.
///
/// Joined when a sequence is asked for, so that it sees everything from then on, whenever its loop begins.
final class BodyObservation: Sendable {
    let request: DataStreamRequest
    private let id: BodyFanOut.ReaderID

    init(of request: DataStreamRequest, cancelsRequest: Bool) {
        self.request = request
        id = request.body.join(cancelsRequest: cancelsRequest)
    }

    deinit {
        request.body.leave(id)
    }

    /// The next bytes, or `nil` at the end; throws what ended the request.
    nonisolated(nonsending) func next() async throws(RequestError) -> Data? {
        if let action = request.body.readNow(id) { return try action.get() }
        // It may not have been started, and then its session has to know that somebody waits.
        request.core.awaitedUnbegun(request)
        return try await request.body.read(id)
    }

    /// Stops reading.
    func leave() { request.body.leave(id) }
}
