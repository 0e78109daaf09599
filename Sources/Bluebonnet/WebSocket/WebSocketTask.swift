public import FoundationEssentials

/// A task that sends and receives the messages of a ``WebSocketRequest``.
///
/// The request starts when you await ``response``, send a message or a ping, or when a loop over ``messages`` begins.
/// All methods may be called from any task. Messages are sent in the order of the calls.
///
/// Received messages are buffered until a loop reads them. When ``Session/Configuration/bodyHighWatermark`` bytes are
/// buffered, the task stops reading from the connection. Pings and a close frame that follow these messages must then
/// wait as well.
///
/// By default, the WebSocket is closed when a loop over the messages is left, and when the task and its sequences are
/// released.
public struct WebSocketTask: Sendable {
    /// The request whose messages this task sends and receives.
    public let request: WebSocketRequest

    private let lifetime: Lifetime

    init(request: WebSocketRequest, automaticallyClosing: Bool) {
        self.request = request
        lifetime = Lifetime(request, closes: automaticallyClosing)
    }

    private var connection: WebSocketConnection { request.connection }

    // MARK: The connection

    /// The head of the response with which the server accepted the WebSocket; its status code is 101.
    ///
    /// The request starts when you await the head. If the request is suspended, or if the session was created with
    /// `startRequestsImmediately: false`, you must call ``Request/resume()``.
    ///
    /// - Throws: A ``RequestError`` if the server does not accept the WebSocket. If the response does not accept the
    ///   WebSocket, the error is `.webSocket(.handshake(…))`, and ``RequestError/response`` is the head of this
    ///   response. The error is `.cancelled` if the awaiting Swift task is cancelled.
    public var response: HTTPResponse {
        get async throws(RequestError) { try await request.opened() }
    }

    /// The subprotocol that the server chose among the offered ones; `nil` if it chose none, or before the handshake.
    public var negotiatedProtocol: String? { connection.negotiatedProtocol }

    /// The close code of the server, or `nil` while the WebSocket is open.
    ///
    /// The code is ``WebSocketCloseCode/noStatusReceived`` if the server's close frame had no code, and
    /// ``WebSocketCloseCode/abnormalClosure`` if the connection ended without a close frame from the server.
    public var closeCode: WebSocketCloseCode? { closure?.code }

    /// The reason in the close frame of the server, or `nil` while the WebSocket is open.
    public var closeReason: String? { closure?.reason }

    /// The end of the connection.
    ///
    /// The connection learns of the end of the request last; without a close frame until then, the end is abnormal.
    private var closure: WebSocketClosure? {
        // In this order: the end of an open connection is known before its request is settled.
        let isSettled = request.core.read { $0.isSettled }
        return connection.closure ?? (isSettled ? WebSocketClosure() : nil)
    }

    /// Closes the WebSocket, and waits until the connection has ended.
    ///
    /// If other tasks are waiting to send messages, these messages are not sent. A loop over the messages receives the
    /// messages that arrive before the close frame of the server, up to ``Session/Configuration/bodyHighWatermark``
    /// bytes, and then ends. If the WebSocket is not open yet, the request is cancelled. If the Swift task is
    /// cancelled, the method returns at once, and the closing handshake continues.
    ///
    /// - Parameters:
    ///   - code: The close code; ``WebSocketCloseCode/normalClosure`` by default.
    ///   - reason: The reason, of at most 123 bytes in UTF-8; empty by default.
    /// - Throws: `.webSocket(.invalidClose)` if the code or the reason cannot be sent.
    public func close(code: WebSocketCloseCode = .normalClosure, reason: String = "") async throws(RequestError) {
        guard let close = WebSocketClose(code: code, reason: reason) else {
            throw RequestError(.webSocket(.invalidClose))
        }
        if request.isInitialized { request.cancel() } else { request.close(close) }
        await connection.ended()
    }

    // MARK: Sending

    /// Sends a message.
    ///
    /// The method waits for earlier messages. It also waits while ``Session/Configuration/bodyHighWatermark`` bytes are
    /// waiting to be sent. It returns when the message has been passed to the connection. If the Swift task is
    /// cancelled while the method waits for an earlier message, the message is not sent. If a part of the message was
    /// already sent, the WebSocket is closed.
    ///
    /// - Parameter message: The message.
    /// - Throws: `.webSocket(.closed(…))` if the WebSocket was closed, `.cancelled` if the Swift task was cancelled, or
    ///   the error of the request.
    public func send(_ message: WebSocketMessage) async throws(RequestError) {
        if !connection.hasOpened { _ = try await request.opened() }
        switch message {
        case .text(let text): try await connection.send(.text, Data(text.utf8))
        case .binary(let data): try await connection.send(.binary, data)
        }
    }

    /// Sends a text message; see ``send(_:)-(WebSocketMessage)``.
    ///
    /// - Parameter text: The text.
    /// - Throws: The same errors as ``send(_:)-(WebSocketMessage)``.
    public func send(_ text: String) async throws(RequestError) { try await send(.text(text)) }

    /// Sends a binary message; see ``send(_:)-(WebSocketMessage)``.
    ///
    /// - Parameter data: The bytes.
    /// - Throws: The same errors as ``send(_:)-(WebSocketMessage)``.
    public func send(_ data: Data) async throws(RequestError) { try await send(.binary(data)) }

    /// Sends one binary message, whose bytes come from a sequence.
    ///
    /// The sequence is read in the calling task, as fast as the server accepts the bytes. Each piece is sent at once,
    /// in one or more fragments (RFC 6455 §5.4). Pings may be sent between the fragments, but other messages wait for
    /// the end of this one.
    ///
    /// If the sequence throws an error or the Swift task is cancelled, the message cannot be completed. If a part of it
    /// was already sent, the WebSocket is closed with ``WebSocketCloseCode/goingAway``, and ``RequestError/detail``
    /// states that it was closed. If the WebSocket is closed meanwhile, the method throws when the sequence returns its
    /// next piece.
    ///
    /// - Parameter pieces: The bytes, in pieces of any size.
    /// - Throws: `.requestBody(.sequenceFailed)` with the error of the sequence in ``RequestError/underlying``;
    ///   otherwise, the same errors as ``send(_:)-(WebSocketMessage)``.
    public func send<Source: AsyncSequence>(binary pieces: Source) async throws(RequestError)
    where Source.Element: DataProtocol & Sendable {
        if !connection.hasOpened { _ = try await request.opened() }
        try await connection.send(.binary, pieces)
    }

    /// Sends one text message, whose text comes from a sequence; see ``send(binary:)``.
    ///
    /// - Parameter pieces: The text, in pieces of any size.
    /// - Throws: The same errors as ``send(binary:)``.
    public func send<Source: AsyncSequence>(text pieces: Source) async throws(RequestError)
    where Source.Element: StringProtocol & Sendable {
        if !connection.hasOpened { _ = try await request.opened() }
        try await connection.send(.text, pieces.map { Data(String($0).utf8) })
    }

    /// Sends a value as JSON in a text message.
    ///
    /// - Parameters:
    ///   - value: The value to encode.
    ///   - encoder: The encoder; a new `JSONEncoder` by default.
    /// - Throws: `.parameterEncoding(.encoderFailed)` if the value cannot be encoded; otherwise, the same errors as
    ///   ``send(_:)-(WebSocketMessage)``.
    public func send<Value: Encodable>(json value: Value, encoder: JSONEncoder = JSONEncoder())
        async throws(RequestError)
    {
        let data = try RequestError.wrapping(.parameterEncoding(.encoderFailed)) { try encoder.encode(value) }
        try await send(.text(String(decoding: data, as: UTF8.self)))
    }

    /// Sends a ping, and waits for the server's pong.
    ///
    /// If no loop reads the messages that arrived before the pong, the method may wait until a loop reads them.
    ///
    /// - Returns: The time from the ping to the pong.
    /// - Throws: The same errors as ``send(_:)-(WebSocketMessage)``.
    @discardableResult
    public func ping() async throws(RequestError) -> Duration {
        if !connection.hasOpened { _ = try await request.opened() }
        return try await connection.ping()
    }

    // MARK: Receiving

    /// The received messages.
    ///
    /// The sequence ends when the server closes the WebSocket with ``WebSocketCloseCode/normalClosure``,
    /// ``WebSocketCloseCode/goingAway`` or no code, or when you close the WebSocket. Otherwise, the loop throws the
    /// error of the request. Each message is delivered to one loop.
    public var messages: Messages { Messages(request: request, lifetime: lifetime) }

    /// The received messages in pieces, so that a message need not be in memory as a whole.
    ///
    /// A piece is delivered as soon as it has arrived. The size of a message is not limited; at most
    /// ``Session/Configuration/bodyHighWatermark`` bytes are buffered for the loop. The sequence ends in the same cases
    /// as ``messages``. If the connection is lost within a message, the loop throws an error after the pieces that have
    /// arrived.
    ///
    /// Read either ``messages`` or pieces, but not both. If a loop is left in the middle of a message, the next loop
    /// continues with the rest of this message.
    public var pieces: Pieces { Pieces(request: request, lifetime: lifetime) }

    /// Returns a sequence of the values in the received messages.
    ///
    /// The values are decoded in the Swift task that runs the loop. The loop throws
    /// `.serialization(.decodingFailed)` if a message cannot be decoded.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder; the session's decoder by default.
    /// - Returns: The sequence of values.
    public func decodables<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: (any DataDecoder)? = nil
    ) -> Decodables<Value> {
        Decodables(messages: messages, decoder: decoder ?? request.sessionDecoder)
    }

    /// Ends the connection immediately, without a closing handshake.
    ///
    /// Loops over the messages throw `.cancelled`. To perform the closing handshake, call ``close(code:reason:)``.
    public func cancel() { request.cancel() }

    /// The received messages of a WebSocket.
    public struct Messages: AsyncSequence, Sendable {
        fileprivate let request: WebSocketRequest
        fileprivate let lifetime: Lifetime

        /// Creates an iterator.
        ///
        /// - Returns: The iterator.
        public func makeAsyncIterator() -> Iterator { Iterator(reader: Reader(request, lifetime)) }

        /// The iterator of the messages.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let reader: Reader

            /// Waits for the next message, and starts the request if necessary.
            ///
            /// - Returns: The next message, or `nil` at the end.
            /// - Throws: The error of the request, or `.cancelled` if the Swift task is cancelled.
            public mutating func next() async throws(RequestError) -> WebSocketMessage? { try await reader.next() }

            /// Waits for the next message, and starts the request if necessary.
            ///
            /// - Parameter actor: The actor that the caller is isolated to.
            /// - Returns: The next message, or `nil` at the end.
            /// - Throws: The error of the request, or `.cancelled` if the Swift task is cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(RequestError) -> WebSocketMessage? { try await reader.next() }
        }
    }

    /// The received messages of a WebSocket in pieces.
    public struct Pieces: AsyncSequence, Sendable {
        fileprivate let request: WebSocketRequest
        fileprivate let lifetime: Lifetime

        /// Creates an iterator.
        ///
        /// - Returns: The iterator.
        public func makeAsyncIterator() -> Iterator { Iterator(reader: Reader(request, lifetime)) }

        /// The iterator of the pieces.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let reader: Reader

            /// Waits for the next piece, and starts the request if necessary.
            ///
            /// - Returns: The next piece, or `nil` at the end.
            /// - Throws: The error of the request, or `.cancelled` if the Swift task is cancelled.
            public mutating func next() async throws(RequestError) -> WebSocketPiece? { try await reader.nextPiece() }

            /// Waits for the next piece, and starts the request if necessary.
            ///
            /// - Parameter actor: The actor that the caller is isolated to.
            /// - Returns: The next piece, or `nil` at the end.
            /// - Throws: The error of the request, or `.cancelled` if the Swift task is cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(RequestError) -> WebSocketPiece? { try await reader.nextPiece() }
        }
    }

    /// The values in the received messages of a WebSocket.
    public struct Decodables<Value: Decodable & Sendable>: AsyncSequence, Sendable {
        fileprivate let messages: Messages
        fileprivate let decoder: any DataDecoder

        /// Creates an iterator.
        ///
        /// - Returns: The iterator.
        public func makeAsyncIterator() -> Iterator {
            Iterator(iterator: messages.makeAsyncIterator(), decoder: decoder)
        }

        /// The iterator of the values.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var iterator: Messages.Iterator
            fileprivate let decoder: any DataDecoder

            /// Waits for the next value, and starts the request if necessary.
            ///
            /// - Returns: The next value, or `nil` at the end.
            /// - Throws: The error of the request, or the error of a message that cannot be decoded.
            public mutating func next() async throws(RequestError) -> Value? { try await next(isolation: nil) }

            /// Waits for the next value, and starts the request if necessary.
            ///
            /// - Parameter actor: The actor that the caller is isolated to.
            /// - Returns: The next value, or `nil` at the end.
            /// - Throws: The error of the request, or the error of a message that cannot be decoded.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> Value? {
                try await iterator.next(isolation: actor)?.decoded(by: decoder)
            }
        }
    }

    /// A loop over messages, which closes the WebSocket when it is left.
    fileprivate final class Reader: Sendable {
        private let request: WebSocketRequest
        private let lifetime: Lifetime

        init(_ request: WebSocketRequest, _ lifetime: Lifetime) { (self.request, self.lifetime) = (request, lifetime) }

        deinit { lifetime.end() }

        func next() async throws(RequestError) -> WebSocketMessage? {
            if !request.connection.hasOpened { try await open() }
            return try await request.connection.next()
        }

        func nextPiece() async throws(RequestError) -> WebSocketPiece? {
            if !request.connection.hasOpened { try await open() }
            return try await request.connection.nextPiece()
        }

        private func open() async throws(RequestError) {
            if request.response == nil { _ = try await request.opened() }
        }
    }

    /// Closes the WebSocket when the task and its sequences are released.
    fileprivate final class Lifetime: Sendable {
        private let request: WebSocketRequest
        private let closes: Bool

        init(_ request: WebSocketRequest, closes: Bool) { (self.request, self.closes) = (request, closes) }

        deinit { end() }

        func end() {
            if closes { request.close(WebSocketClose(code: .normalClosure), isDiscarding: true) }
        }
    }
}

extension WebSocketRequest {
    /// Starts the request, and waits until the WebSocket is open.
    nonisolated func opened() async throws(RequestError) -> HTTPResponse {
        core.observe(self)
        core.awaitedBeforeStart(self)
        do throws(RequestError) {
            return try await core.acceptedHead(cancellingRequest: false)
        } catch {
            throw self.error ?? error
        }
    }

    /// Begins to close; cancels a request that has begun and is not open yet.
    nonisolated func close(_ close: WebSocketClose?, isDiscarding: Bool = false) {
        guard !isInitialized, let close else { return }
        if !connection.close(close, isDiscarding: isDiscarding) { cancel() }
    }
}
