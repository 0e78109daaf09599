import FoundationEssentials

/// Reads a streamed body for one observer as events: an element or an error for each, and the completion last.
///
/// Runs here: the framer. The serializer runs on the global pool.
actor EventStream<Framer: BodyFramer, Success: Sendable, Failure: Error>: StreamSource {
    typealias Element = DataStreamRequest.Stream<Success, Failure>
    typealias Transform = @Sendable (Result<Framer.Element, RequestError>) async -> Result<Success, Failure>?

    private let observation: BodyObservation
    private let makeFramer: @Sendable (HTTPResponse?) -> Framer
    private let transform: Transform
    private var framer: Framer?
    private var isBodyComplete = false
    private var isComplete = false

    init(
        _ observation: BodyObservation, makeFramer: @escaping @Sendable (HTTPResponse?) -> Framer,
        transform: @escaping Transform
    ) {
        self.observation = observation
        self.makeFramer = makeFramer
        self.transform = transform
    }

    nonisolated(nonsending) func next() async -> Element? { await nextEvent() }

    private func nextEvent() async -> Element? {
        while !isComplete {
            if let result = await nextResult() {
                if let events = request.core.events { tell(events, of: result) }
                if case .failure = result, request.automaticallyCancelOnStreamError { request.cancel() }
                return Element(event: .stream(result), request: request)
            }
            guard isBodyComplete else { continue }
            isComplete = true
            // A loop that was cancelled ends without the request's completion, which is yet to come.
            guard !Task.isCancelled else { return nil }
            return Element(event: .complete(request.completion), request: request)
        }
        return nil
    }

    private var request: DataStreamRequest { observation.request }

    private func tell(_ events: RequestEvents, of result: Result<Success, Failure>) {
        switch result {
        case .success(let value): events.streamed(Result<Success, RequestError>.success(value))
        case .failure(let error):
            guard let error = error as? RequestError else { return }
            events.streamed(Result<Success, RequestError>.failure(error))
        }
    }

    /// The next element, or the error in its place; nothing when there may be more, or the body is complete.
    private func nextResult() async -> Result<Success, Failure>? {
        do throws(RequestError) {
            if let element = try framer?.next() { return await transform(.success(element)) }
        } catch {
            // A framer that cannot go on is done with.
            if case .invalidResponse = error.kind { endBody() }
            return await transform(.failure(error))
        }
        guard !isBodyComplete else { return nil }
        do throws(RequestError) {
            guard let piece = try await observation.next() else {
                isBodyComplete = true
                try framer?.finish()
                // What is left comes first.
                if let element = try framer?.next() { return await transform(.success(element)) }
                return nil
            }
            if framer == nil { framer = makeFramer(request.response) }
            try framer?.append(piece)
        } catch {
            // It is the completion that says why.
            endBody()
        }
        return nil
    }

    private func endBody() {
        isBodyComplete = true
        framer = nil
        observation.leave()
    }
}
