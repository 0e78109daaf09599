public import FoundationEssentials

extension LocalServer {
    /// Reads the body of a request while the body is being received; see ``Router/streaming(_:method:continue:_:)``.
    ///
    /// Iterate over the reader, or call ``read()`` repeatedly. Both ways return the body in pieces. A piece contains
    /// the bytes that are available at the time of the read. When the server has buffered about 256 KiB of unread
    /// bytes, it stops reading from the connection. The client must then wait.
    ///
    /// All copies of a reader read the same body. If several tasks read at the same time, each piece is returned to
    /// only one of these tasks. You can read the body until the response is complete. If the response is a stream
    /// (``Response/stream(status:headers:length:_:)``), its closure can also read the body.
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

        /// Waits for bytes of the body, and returns all available bytes.
        ///
        /// The bytes do not include the framing of a chunked body.
        ///
        /// If the task is cancelled, the wait continues. If the connection ends, the wait ends.
        ///
        /// - Returns: The next bytes; `nil` at the end of the body.
        /// - Throws: ``LocalServer/Failure/connectionClosed`` if the client disconnected before the body was complete,
        ///   if the server was stopped, or if the response is complete.
        ///   ``LocalServer/Failure/malformedBody(status:reason:)`` if the body is malformed. If the client closed the
        ///   connection without a reset (`RST`), the method first returns the bytes that were received before. The same
        ///   applies if the body is malformed.
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

        /// The iterator of a ``BodyReader``, which reads the pieces of the body one after the other.
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

    /// Whether and when a server sends 100 (Continue) to a client that sent `Expect: 100-continue` (RFC 9110 §10.1.1).
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

        /// The number of bytes of the response body that the server has written to its socket so far.
        ///
        /// The number does not include the framing of a chunked body.
        ///
        /// If the client reads slowly, this number is less than the number of bytes that you passed to
        /// ``write(_:)-(Data)``.
        public var bytesSent: Int { sent.value }

        /// Writes bytes, and returns when the socket of the server has accepted all bytes.
        ///
        /// A slow client therefore slows down the writer. Several tasks can write at the same time. The bytes of one
        /// call remain together. If the task is cancelled, the call continues. If the connection ends, the call ends.
        ///
        /// - Parameter data: The bytes to write.
        /// - Throws: ``LocalServer/Failure/connectionClosed`` if the client disconnected or the server was stopped.
        ///   ``LocalServer/Failure/bodyTooLong(promised:)`` if the body would be longer than the `length` of the
        ///   response. In this case, the method writes nothing.
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
