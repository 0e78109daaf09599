public import FoundationEssentials

extension LocalServer {
    /// Reads the body of a request while the body is being received; see ``Router/streaming(_:method:continue:_:)``.
    ///
    /// Iterate over the pieces of the body, or call ``read()`` for one piece at a time. The server buffers at most 256
    /// KiB and one piece of unread bytes. If the buffer is full, the server stops reading from the connection, and the
    /// client must wait.
    ///
    /// All copies of a reader read the same body. If several tasks read at the same time, each piece is returned to one
    /// of them. The body can be read until the response is complete: in the route, and in the producer of a streamed
    /// response.
    public struct BodyReader: AsyncSequence, Sendable {
        /// The length of the body in bytes; `nil` for a chunked body.
        public let length: Int?

        let core: ServerCore
        let exchange: ExchangeID
        let counts: IncomingBody.Counts

        /// The number of bytes of the body that the route has read so far.
        public var bytesRead: Int { counts.read.value }

        /// The number of bytes of the body that the server has received so far, including unread bytes.
        public var bytesReceived: Int { counts.received.value }

        /// Waits for bytes of the body, and returns all available bytes without chunked framing.
        ///
        /// Cancelling the task does not interrupt the wait. The wait ends if the connection ends.
        ///
        /// - Returns: The next bytes; `nil` at the end of the body.
        /// - Throws: ``LocalServer/Failure/connectionClosed`` if the client disconnected before the body was complete,
        ///   if the server was stopped, or if the response is complete.
        ///   ``LocalServer/Failure/malformedBody(status:reason:)`` if the body is malformed. Bytes that were received
        ///   before the failure are returned first.
        public func read() async throws(LocalServer.Failure) -> Data? {
            let answer = await withCheckedContinuation {
                (continuation: CheckedContinuation<IncomingBody.ReadResult, Never>) in
                core.submit(to: exchange) { connection in
                    guard let connection else { return continuation.resume(returning: .failure(.connectionClosed)) }
                    connection.readBody(continuation)
                }
            }
            return try answer.get()
        }

        /// Reads and discards the rest of the body.
        ///
        /// - Returns: The number of discarded bytes.
        /// - Throws: The same errors as ``read()``.
        @discardableResult public func discard() async throws(LocalServer.Failure) -> Int {
            var count = 0
            while let piece = try await read() { count += piece.count }
            return count
        }

        /// Returns an iterator that calls ``read()``.
        ///
        /// - Returns: An iterator over the pieces of the body.
        public func makeAsyncIterator() -> some AsyncIteratorProtocol<Data, LocalServer.Failure> {
            Iterator(reader: self)
        }

        /// Reads the pieces of a body, one after the other.
        package struct Iterator: AsyncIteratorProtocol {
            let reader: BodyReader

            /// Waits for bytes of the body, and returns all available bytes; see ``BodyReader/read()``.
            ///
            /// - Returns: The next bytes; `nil` at the end of the body.
            /// - Throws: The same errors as ``BodyReader/read()``.
            package mutating func next() async throws(LocalServer.Failure) -> Data? {
                try await reader.read()
            }

            /// Waits for bytes of the body, and returns all available bytes; see ``BodyReader/read()``.
            ///
            /// - Parameter actor: The caller's isolation, which is ignored.
            /// - Returns: The next bytes; `nil` at the end of the body.
            /// - Throws: The same errors as ``BodyReader/read()``.
            package mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(LocalServer.Failure) -> Data? {
                try await reader.read()
            }
        }
    }

    /// The policy for sending 100 (Continue) to a client that sends `Expect: 100-continue` (RFC 9110 §10.1.1).
    public enum ContinuePolicy: Hashable, Sendable {
        /// Send 100 (Continue) as soon as the request head has been received.
        case immediately
        /// Send 100 (Continue) when the route first reads the body.
        ///
        /// If the route returns a response before it reads the body, the server sends only this response and closes the
        /// connection.
        case whenRead
        /// Never send 100 (Continue).
        ///
        /// The route can still read the body if the client sends the body without waiting.
        case never
    }
}

extension LocalServer {
    /// Writes the body of a streamed response.
    public struct BodyWriter: Sendable {
        let core: ServerCore
        let exchange: ExchangeID
        let sent: ByteCount

        /// The number of bytes of the body that the socket has accepted so far, without framing.
        ///
        /// If the client reads slowly, this number is less than the number of bytes passed to ``write(_:)-(Data)``.
        public var bytesSent: Int { sent.value }

        /// Writes bytes, and returns when the socket has accepted all bytes.
        ///
        /// A slow client therefore slows down the writer. Several tasks can write at the same time, and their pieces
        /// are not mixed. Cancelling the task does not interrupt the write. The write ends if the connection ends.
        ///
        /// - Parameter data: The bytes to write.
        /// - Throws: ``LocalServer/Failure/connectionClosed`` if the client disconnected or the server was stopped.
        ///   ``LocalServer/Failure/bodyTooLong(promised:)`` if the body would exceed the announced length. In this
        ///   case, nothing is written.
        public func write(_ data: Data) async throws(Failure) {
            let failure = await withCheckedContinuation { (continuation: OutgoingQueue.Waiter) in
                core.submit(to: exchange) { connection in
                    guard let connection else { return continuation.resume(returning: .connectionClosed) }
                    connection.writeBody(data, continuation)
                }
            }
            if let failure { throw failure }
        }

        /// Writes bytes; see ``write(_:)-(Data)``.
        ///
        /// - Parameter bytes: The bytes to write.
        /// - Throws: The same errors as ``write(_:)-(Data)``.
        package func write(_ bytes: [UInt8]) async throws(Failure) {
            try await write(Data(bytes))
        }

        /// Writes text in UTF-8; see ``write(_:)-(Data)``.
        ///
        /// - Parameter text: The text to write.
        /// - Throws: The same errors as ``write(_:)-(Data)``.
        public func write(_ text: String) async throws(Failure) {
            try await write(Data(text.utf8))
        }
    }
}

/// Identifies one request on one connection, so that a late response is not sent for the next request.
struct ExchangeID: Hashable, Sendable {
    let connection: Int
    let number: Int

    /// The identifier of the next request on the same connection.
    var next: ExchangeID { ExchangeID(connection: connection, number: number + 1) }
}
