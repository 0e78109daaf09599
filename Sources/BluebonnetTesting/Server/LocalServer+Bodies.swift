public import FoundationEssentials

extension LocalServer {
    /// Reads the body of a request while it is being received; see ``Router/streaming(_:method:continue:_:)``.
    ///
    /// You can iterate over the pieces of the body, or call ``read()`` for one piece at a time. Unread bytes stay on
    /// the connection: the server reads at most 256 KiB and one piece ahead of the reader, so the client has to wait.
    ///
    /// All copies of a reader read the same body, and each piece goes to one of the waiting readers. The body can be
    /// read until the answer to the request is complete: in a route, and in the producer of a streamed response.
    public struct BodyReader: AsyncSequence, Sendable {
        /// The length of the whole body in bytes, if the client announced it; `nil` for a chunked body.
        public let length: Int?

        let core: ServerCore
        let exchange: ExchangeID
        let counts: IncomingBody.Counts

        /// The number of bytes of the body that were read so far; thread-safe.
        public var bytesRead: Int { counts.read.value }

        /// The number of bytes of the body that were received from the socket so far, read or unread; thread-safe.
        public var bytesReceived: Int { counts.received.value }

        /// Waits for bytes, and returns all available bytes, without the framing of a chunked body.
        ///
        /// Cancelling the task alone does not interrupt the wait; the end of the connection does.
        ///
        /// - Returns: The next bytes; `nil` at the end of the body.
        /// - Throws: ``LocalServer/Failure/connectionClosed`` if the client disconnected before the body was complete,
        ///   if the server was stopped, or if the answer is complete;
        ///   ``LocalServer/Failure/malformedBody(status:reason:)`` for a malformed body. Bytes that were received
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

        /// Reads the rest of the body and drops it.
        ///
        /// - Returns: The number of bytes in the rest of the body.
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

            /// Waits for bytes, and returns all available bytes; see ``BodyReader/read()``.
            ///
            /// - Returns: The next bytes; `nil` at the end of the body.
            /// - Throws: The same errors as ``BodyReader/read()``.
            package mutating func next() async throws(LocalServer.Failure) -> Data? {
                try await reader.read()
            }

            /// Waits for bytes, and returns all available bytes; see ``BodyReader/read()``.
            ///
            /// - Parameter actor: The caller's isolation, which reading does not need.
            /// - Returns: The next bytes; `nil` at the end of the body.
            /// - Throws: The same errors as ``BodyReader/read()``.
            package mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(LocalServer.Failure) -> Data? {
                try await reader.read()
            }
        }
    }

    /// When to send 100 (Continue) to a client that expects it (`Expect: 100-continue`, RFC 9110 §10.1.1).
    public enum ContinuePolicy: Hashable, Sendable {
        /// Send it as soon as the head has been read.
        case immediately
        /// Send it when the route reads the body.
        ///
        /// If the route answers before reading, only that answer is sent, and the connection is closed.
        case whenRead
        /// Never send it; the body can still be read if the client sends it anyway.
        case never
    }
}

extension LocalServer {
    /// Writes the body of a streamed response.
    public struct BodyWriter: Sendable {
        let core: ServerCore
        let exchange: ExchangeID
        let sent: ByteCount

        /// The number of bytes of the body that the socket has accepted so far, without framing; thread-safe.
        ///
        /// If the client reads slowly, it is less than the number of bytes passed to ``write(_:)-(Data)``.
        public var bytesSent: Int { sent.value }

        /// Writes bytes, and returns when the socket has accepted all of them.
        ///
        /// Therefore, a client that reads slowly slows down the writer. Several tasks may write at the same time; their
        /// pieces are not mixed. Cancelling the task alone does not interrupt the write; the end of the connection
        /// does.
        ///
        /// - Parameter data: The bytes to write.
        /// - Throws: ``LocalServer/Failure/connectionClosed`` if the client disconnected or the server was stopped;
        ///   ``LocalServer/Failure/bodyTooLong(promised:)``, with nothing written, if the body would exceed the
        ///   announced length.
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

/// Identifies one request on one connection, so that a late answer does not reach the next request.
struct ExchangeID: Hashable, Sendable {
    let connection: Int
    let number: Int

    /// The request after this one.
    var next: ExchangeID { ExchangeID(connection: connection, number: number + 1) }
}
