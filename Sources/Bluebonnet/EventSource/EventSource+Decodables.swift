public import FoundationEssentials

extension EventSource {
    /// Returns a sequence of the values in the data of the events.
    ///
    /// Each loop over the sequence has its own connection, which reconnects as the source does. The values are decoded
    /// in the Swift task that runs the loop. The loop throws `.serialization(.decodingFailed)` if the data of an event
    /// cannot be decoded. Some servers end with other data, such as `[DONE]`; set ``Configuration/finalData`` to it.
    ///
    /// ```swift
    /// for try await price in session.eventSource(url).decodables(of: Price.self) {
    ///     print(price)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder for the data; a `JSONDecoder` by default.
    /// - Returns: The sequence of values.
    public func decodables<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder()
    ) -> Decodables<Value> {
        Decodables(events: self, decoder: decoder)
    }

    /// A sequence of decoded values, which ``EventSource/decodables(of:decoder:)`` returns.
    public struct Decodables<Value: Decodable & Sendable>: AsyncSequence, Sendable {
        fileprivate let events: EventSource
        fileprivate let decoder: any DataDecoder

        /// Creates an iterator with its own connection.
        ///
        /// - Returns: The iterator. It connects when you request the first value.
        public func makeAsyncIterator() -> Iterator {
            Iterator(events: events.makeAsyncIterator(), decoder: decoder)
        }

        /// The iterator of the values.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var events: EventSource.Iterator
            fileprivate let decoder: any DataDecoder

            /// Waits for the next event, and decodes its data.
            ///
            /// - Returns: The next value, or `nil` if the sequence has ended.
            /// - Throws: The error of the source, or `.serialization(.decodingFailed)`.
            public mutating func next() async throws(RequestError) -> Value? { try await next(isolation: nil) }

            /// Waits for the next event, and decodes its data.
            ///
            /// - Parameter actor: The actor that the caller is isolated to.
            /// - Returns: The next value, or `nil` if the sequence has ended.
            /// - Throws: The error of the source, or `.serialization(.decodingFailed)`.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> Value? {
                guard let event = try await events.next(isolation: actor) else { return nil }
                return try event.decodeData(decoder: decoder)
            }
        }
    }
}
