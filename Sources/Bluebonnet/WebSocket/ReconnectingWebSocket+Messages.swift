public import FoundationEssentials

extension ReconnectingWebSocket {
    /// Sends a ping on the open connection, and waits for the server's pong.
    ///
    /// If no connection is open, the method waits for one. If no loop reads the messages that arrived before the pong,
    /// the method may wait until a loop reads them.
    ///
    /// - Returns: The time from the ping to the pong.
    /// - Throws: The errors of ``openTask`` and of ``WebSocketTask/ping()``.
    @discardableResult
    public func ping() async throws(RequestError) -> Duration { try await openTask.ping() }

    /// The received messages of all connections, without the other events.
    ///
    /// It is a loop over ``events`` that only passes on the messages, so run only one of the two at a time.
    ///
    /// ```swift
    /// for try await message in session.reconnectingWebSocket("wss://example.com/feed").messages {
    ///     print(message)
    /// }
    /// ```
    public var messages: Messages { Messages(events: events) }

    /// Returns a sequence of the values in the received messages of all connections.
    ///
    /// The values are decoded in the Swift task that runs the loop. The loop throws
    /// `.serialization(.decodingFailed)` if a message cannot be decoded. Like ``messages``, it is a loop over
    /// ``events``.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder; a `JSONDecoder` by default.
    /// - Returns: The sequence of values.
    public func decodables<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder()
    ) -> Decodables<Value> {
        Decodables(messages: messages, decoder: decoder)
    }

    /// The received messages of a socket, which ``ReconnectingWebSocket/messages`` returns.
    public struct Messages: AsyncSequence, Sendable {
        fileprivate let events: Events

        /// Creates an iterator.
        ///
        /// - Returns: The iterator. It connects when you request the first message, and closes the connection when it
        ///   is released.
        public func makeAsyncIterator() -> Iterator { Iterator(events: events.makeAsyncIterator()) }

        /// The iterator of the messages.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var events: Events.Iterator

            /// Waits for the next message, and connects if necessary.
            ///
            /// - Returns: The next message, or `nil` at the end.
            /// - Throws: The error that ends the sequence, or `.cancelled` if the Swift task is cancelled.
            public mutating func next() async throws(RequestError) -> WebSocketMessage? {
                try await next(isolation: nil)
            }

            /// Waits for the next message, and connects if necessary.
            ///
            /// - Parameter actor: The actor that the caller is isolated to.
            /// - Returns: The next message, or `nil` at the end.
            /// - Throws: The error that ends the sequence, or `.cancelled` if the Swift task is cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(RequestError) -> WebSocketMessage? {
                while let event = try await events.next(isolation: actor) {
                    if case .message(let message) = event { return message }
                }
                return nil
            }
        }
    }

    /// The values in the received messages of a socket, which ``ReconnectingWebSocket/decodables(of:decoder:)``
    /// returns.
    public struct Decodables<Value: Decodable & Sendable>: AsyncSequence, Sendable {
        fileprivate let messages: Messages
        fileprivate let decoder: any DataDecoder

        /// Creates an iterator.
        ///
        /// - Returns: The iterator. It connects when you request the first value, and closes the connection when it is
        ///   released.
        public func makeAsyncIterator() -> Iterator {
            Iterator(messages: messages.makeAsyncIterator(), decoder: decoder)
        }

        /// The iterator of the values.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var messages: Messages.Iterator
            fileprivate let decoder: any DataDecoder

            /// Waits for the next value, and connects if necessary.
            ///
            /// - Returns: The next value, or `nil` at the end.
            /// - Throws: The error that ends the sequence, or the error of a message that cannot be decoded.
            public mutating func next() async throws(RequestError) -> Value? { try await next(isolation: nil) }

            /// Waits for the next value, and connects if necessary.
            ///
            /// - Parameter actor: The actor that the caller is isolated to.
            /// - Returns: The next value, or `nil` at the end.
            /// - Throws: The error that ends the sequence, or the error of a message that cannot be decoded.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> Value? {
                try await messages.next(isolation: actor)?.decoded(by: decoder)
            }
        }
    }
}
