public import FoundationEssentials

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
                core.submit { context in
                    guard let connection = context.connection(exchange) else {
                        return continuation.resume(returning: .connectionClosed)
                    }
                    connection.writeBody(data, continuation)
                }
            }
            if let failure { throw failure }
        }

        /// Writes bytes; see ``write(_:)-(Data)``.
        ///
        /// - Parameter bytes: The bytes.
        /// - Throws: As for data.
        public func write(_ bytes: [UInt8]) async throws(Failure) {
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
