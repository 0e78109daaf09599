public import FoundationEssentials

extension LocalServer {
    /// Reads the body of a request while it is being received; see ``Router/streaming(_:method:continue:_:)``.
    ///
    /// It is a sequence of pieces, and can also be asked for one after the other. What is not read stays on the
    /// connection: of the body no more than 256 KiB and one piece are taken from the socket ahead of
    /// the reader, and so the client has to wait.
    ///
    /// All copies of a reader read the same body; each piece goes to one of the waiting readers. The body can be read
    /// until the answer to the request is complete: in a route, and in the producer of a streamed response.
    public struct BodyReader: AsyncSequence, Sendable {
        /// The length of the whole body in bytes, if the client said it; `nil` when it is chunked.
        public let length: Int?

        let core: ServerCore
        let exchange: ExchangeID
        let counts: IncomingBody.Counts

        /// How many bytes of the body were read so far; from anywhere.
        public var bytesRead: Int { counts.read.value }

        /// How many bytes of the body were taken from the socket so far, read or not; from anywhere.
        public var bytesReceived: Int { counts.received.value }

        /// Waits for bytes, and returns all that there are, without the framing of a chunked body.
        ///
        /// Cancellation alone does not interrupt it, the end of the connection does.
        ///
        /// - Returns: The next bytes; `nil` at the end of the body.
        /// - Throws: ``LocalServer/Failure/connectionClosed`` when the client went away before the body was complete,
        ///   the server was stopped, or the answer is complete; ``LocalServer/Failure/malformedBody(status:reason:)``.
        ///   What came before that is returned first.
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

        /// Reads the rest of the body and forgets it.
        ///
        /// - Returns: How many bytes the rest had.
        /// - Throws: As ``read()``.
        @discardableResult public func discard() async throws(LocalServer.Failure) -> Int {
            var count = 0
            while let piece = try await read() { count += piece.count }
            return count
        }

        /// Returns an iterator, which calls ``read()``.
        ///
        /// - Returns: The iterator.
        public func makeAsyncIterator() -> some AsyncIteratorProtocol<Data, LocalServer.Failure> {
            Iterator(reader: self)
        }

        /// Reads one piece after the other.
        package struct Iterator: AsyncIteratorProtocol {
            let reader: BodyReader

            /// Waits for bytes, and returns all that there are; see ``BodyReader/read()``.
            ///
            /// - Returns: The next bytes; `nil` at the end of the body.
            /// - Throws: As ``BodyReader/read()``.
            package mutating func next() async throws(LocalServer.Failure) -> Data? {
                try await reader.read()
            }

            /// Waits for bytes, and returns all that there are; see ``BodyReader/read()``.
            ///
            /// - Parameter actor: The caller's isolation, which reading does not need.
            /// - Returns: The next bytes; `nil` at the end of the body.
            /// - Throws: As ``BodyReader/read()``.
            package mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(LocalServer.Failure) -> Data? {
                try await reader.read()
            }
        }
    }

    /// Says when a client that expects it gets the 100 (Continue) response (`Expect: 100-continue`, RFC 9110 §10.1.1).
    public enum ContinuePolicy: Hashable, Sendable {
        /// As soon as the head has been read.
        case immediately
        /// When the route reads the body; a route that answers before that answers instead, and the connection is closed.
        case whenRead
        /// Never; the body can be read when the client sends it nevertheless.
        case never
    }
}

extension LocalServer {
    /// Writes the body of a streamed response.
    public struct BodyWriter: Sendable {
        let core: ServerCore
        let exchange: ExchangeID
        let sent: ByteCount

        /// How many bytes of the body the socket has taken so far, framing not included; from anywhere.
        ///
        /// With a client that reads slowly, that is less than what was given to ``write(_:)-(Data)``.
        public var bytesSent: Int { sent.value }

        /// Writes bytes, and returns when the socket has taken all of them.
        ///
        /// So a client that reads slowly slows the writer down. Writing from several tasks at once is allowed; the pieces
        /// are not mixed. Cancellation alone does not interrupt it, the end of the connection does.
        ///
        /// - Parameter data: The bytes.
        /// - Throws: ``LocalServer/Failure/connectionClosed`` when the client went away or the server was stopped;
        ///   ``LocalServer/Failure/bodyTooLong(promised:)``, with nothing written, when it is more than was promised.
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
        /// - Parameter bytes: The bytes.
        /// - Throws: As for data.
        package func write(_ bytes: [UInt8]) async throws(Failure) {
            try await write(Data(bytes))
        }

        /// Writes text in UTF-8; see ``write(_:)-(Data)``.
        ///
        /// - Parameter text: The text.
        /// - Throws: As for data.
        public func write(_ text: String) async throws(Failure) {
            try await write(Data(text.utf8))
        }
    }
}

/// Names one request on one connection, so that an answer that comes late does not reach the next.
struct ExchangeID: Hashable, Sendable {
    let connection: Int
    let number: Int

    /// The request after this one.
    var next: ExchangeID { ExchangeID(connection: connection, number: number + 1) }
}
