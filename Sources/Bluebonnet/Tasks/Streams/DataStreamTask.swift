/// Reads a response while it comes in: the head first, then the body, as sequences.
///
/// Made by ``DataStreamRequest/streamTask(automaticallyCancelling:)``. Asking for a sequence starts the request, unless
/// its session or a suspension holds it back, and everything from then on waits for the loop over it; so several
/// sequences that are asked for together see the same. A sequence that is asked for when the request has ended, and is
/// not the first, ends at once, with the request's error if that failed.
///
/// A loop that is left early ends its reading, and the last to do so cancels the request; likewise a task that was asked
/// for the head alone cancels the request when it goes.
public struct DataStreamTask: Sendable {
    /// The request that is read.
    public let request: DataStreamRequest

    let automaticallyCancelling: Bool
    private let lifetime: Lifetime

    init(request: DataStreamRequest, automaticallyCancelling: Bool) {
        self.request = request
        self.automaticallyCancelling = automaticallyCancelling
        lifetime = Lifetime(body: automaticallyCancelling ? request.body : nil)
    }

    /// The head of the response, as soon as it is there and the validators have accepted it.
    ///
    /// Starts the request. The body waits until somebody reads it. If the awaiting task is cancelled, the request is,
    /// unless the task was made with `automaticallyCancelling: false`.
    ///
    /// - Throws: A ``RequestError`` if there is no such response.
    public var response: HTTPResponse {
        get async throws(RequestError) {
            request.core.observe(request)
            lifetime.begin()
            let head = await withTaskCancellationHandler {
                request.core.awaitedUnbegun(request)
                return await acceptedHead()
            } onCancel: {
                if automaticallyCancelling { request.cancel() }
            }
            return try head.get()
        }
    }

    private func acceptedHead() async -> Result<HTTPResponse, RequestError> {
        do throws(RequestError) {
            return .success(try await request.core.acceptedHead())
        } catch {
            return .failure(error)
        }
    }

    /// Cancels the request; every sequence ends with `.cancelled`, after what has come in.
    public func cancel() { request.cancel() }

    /// Holds the request back: nothing is read from or written to the network.
    public func suspend() { request.suspend() }

    /// Lets the request go on, or starts it.
    public func resume() { request.resume() }

    /// Begins to read, for one sequence, and starts the request.
    func observation() -> Offer<BodyObservation> {
        beginning(automaticallyCancelling) { Offer($0) }
    }

    /// Makes what reads the body, then starts the request, so that nothing of it is missed.
    func beginning<Reading>(
        _ cancelsRequest: Bool, _ make: (@escaping @Sendable () -> BodyObservation) -> Reading
    ) -> Reading {
        // A task that is cancelled already is not going to read anything.
        if cancelsRequest, Task.isCancelled { request.cancel() }
        let reading = make { [request] in BodyObservation(of: request, cancelsRequest: cancelsRequest) }
        request.core.observe(request)
        return reading
    }

    /// Cancels a request that was begun for its head, and whose body nobody came to read.
    private final class Lifetime: Sendable {
        private let body: BodyFanOut?
        private let hasBegun = OneTimeClaim()

        init(body: BodyFanOut?) {
            self.body = body
        }

        deinit {
            if hasBegun.isTaken { body?.taskEnded() }
        }

        func begin() {
            if hasBegun.take() { body?.taskBegan() }
        }
    }
}
