/// A streamed body as a sequence of what a framer makes of it.
struct FramedBody<Framer: BodyFramer>: AsyncSequence, Sendable {
    typealias Element = Framer.Element
    typealias Failure = RequestError

    let offer: Offer<BodyObservation>
    /// Makes the framer when the head is known.
    let makeFramer: @Sendable (HTTPResponse?) -> Framer

    func makeAsyncIterator() -> Iterator { Iterator(observation: offer.claim(), makeFramer: makeFramer) }

    struct Iterator: AsyncIteratorProtocol {
        private let observation: BodyObservation
        private let makeFramer: @Sendable (HTTPResponse?) -> Framer
        private var framer: Framer?
        private var isComplete = false

        init(observation: BodyObservation, makeFramer: @escaping @Sendable (HTTPResponse?) -> Framer) {
            self.observation = observation
            self.makeFramer = makeFramer
        }

        mutating func next() async throws(RequestError) -> Framer.Element? {
            try await next(isolation: nil)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> Framer.Element? {
            while true {
                do throws(RequestError) {
                    if let element = try framer?.next() {
                        observation.request.core.events?.streamed(Result<_, RequestError>.success(element))
                        return element
                    }
                    guard !isComplete else { return nil }
                    guard let piece = try await observation.next() else {
                        isComplete = true
                        try framer?.finish()
                        continue
                    }
                    if framer == nil { framer = makeFramer(observation.request.response) }
                    try framer?.append(piece)
                } catch {
                    isComplete = true
                    framer = nil
                    // Whether the request failed or what it brought, nobody reads on after an error.
                    observation.leave()
                    throw error
                }
            }
        }
    }
}
