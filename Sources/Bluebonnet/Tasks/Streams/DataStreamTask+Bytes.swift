public import FoundationEssentials

extension DataStreamTask {
    /// The body, in pieces as they come in.
    ///
    /// ```swift
    /// for try await piece in task.bytes { count += piece.count }
    /// ```
    ///
    /// Starts the request. The loop throws a ``RequestError`` if the request fails.
    public var bytes: Bytes { Bytes(offer: observation()) }

    /// The body of a response in pieces: none of them empty, and of any size up to some hundred KiB.
    public struct Bytes: AsyncSequence, Sendable {
        /// What a loop over the sequence throws.
        public typealias Failure = RequestError

        let offer: Offer<BodyObservation>

        /// Begins a loop.
        ///
        /// The first one sees everything from when the sequence was asked for, others from now on.
        ///
        /// - Returns: The iterator; dropping it ends the reading.
        public func makeAsyncIterator() -> Iterator { Iterator(observation: offer.claim()) }

        /// Takes the pieces one after the other.
        public struct Iterator: AsyncIteratorProtocol {
            let observation: BodyObservation

            /// Waits for the next piece.
            ///
            /// - Returns: The piece, or `nil` at the end of the body.
            /// - Throws: Why the request failed; `.cancelled` when the task is.
            public mutating func next() async throws(RequestError) -> Data? {
                try await observation.next()
            }

            /// Waits for the next piece.
            ///
            /// - Parameter actor: The actor that the caller is on.
            /// - Returns: The piece, or `nil` at the end of the body.
            /// - Throws: Why the request failed; `.cancelled` when the task is.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(RequestError) -> Data? {
                try await observation.next()
            }
        }
    }
}
