public import Bluebonnet
public import FoundationEssentials

extension LocalServer {
    /// What a route answers.
    ///
    /// The server takes care of the framing: it sets `Content-Length` or `Transfer-Encoding` to what is right, sends no
    /// body where there must be none (HEAD, 1xx, 204, 304), and honours a `Connection: close` among the fields. What
    /// breaks the rules of HTTP on purpose is written byte by byte, as a ``Script``.
    public struct Response: Sendable {
        /// Sends a body; see ``stream(status:headers:length:_:)``.
        public typealias Producer = @Sendable (BodyWriter) async throws -> Void

        /// The status code.
        public var status: Int

        /// The reason phrase; `nil` for the usual one.
        public var reason: String?

        /// The fields.
        public var headers: HTTPHeaders

        /// The body.
        public var body: Body

        /// Creates a response.
        ///
        /// - Parameters:
        ///   - status: The status code.
        ///   - reason: The reason phrase; `nil` for the usual one.
        ///   - headers: The fields.
        ///   - body: The body.
        public init(status: Int = 200, reason: String? = nil, headers: HTTPHeaders = [:], body: Body = .empty) {
            self.status = status
            self.reason = reason
            self.headers = headers
            self.body = body
        }

        /// The body of a response.
        public struct Body: Sendable {
            enum Storage: Sendable {
                case data(Data)
                case stream(length: Int?, Producer)
                case script([Script.Step])
            }

            let storage: Storage

            /// No body.
            public static let empty = Body(storage: .data(Data()))

            /// Returns a body of bytes.
            ///
            /// - Parameter data: The bytes.
            /// - Returns: The body.
            public static func data(_ data: Data) -> Body { Body(storage: .data(data)) }

            /// Returns a body of text in UTF-8.
            ///
            /// - Parameter text: The text.
            /// - Returns: The body.
            public static func text(_ text: String) -> Body { .data(Data(text.utf8)) }
        }
    }
}

extension LocalServer.Response {
    /// 200, without a body.
    public static let ok = LocalServer.Response()

    /// Returns a response without a body.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The fields.
    /// - Returns: The response.
    public static func status(_ status: Int, headers: HTTPHeaders = [:]) -> LocalServer.Response {
        LocalServer.Response(status: status, headers: headers)
    }

    /// Returns a response with a body of bytes.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - contentType: The media type.
    ///   - status: The status code.
    ///   - headers: Further fields.
    /// - Returns: The response.
    public static func data(
        _ data: Data, contentType: String = "application/octet-stream", status: Int = 200, headers: HTTPHeaders = [:]
    ) -> LocalServer.Response {
        LocalServer.Response(status: status, headers: headers.including(contentType: contentType), body: .data(data))
    }

    /// Returns a response with a body of text in UTF-8.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - contentType: The media type.
    ///   - status: The status code.
    ///   - headers: Further fields.
    /// - Returns: The response.
    public static func text(
        _ text: String, contentType: String = "text/plain; charset=utf-8", status: Int = 200,
        headers: HTTPHeaders = [:]
    ) -> LocalServer.Response {
        data(Data(text.utf8), contentType: contentType, status: status, headers: headers)
    }

    /// Returns a response with a value as JSON, with its keys sorted.
    ///
    /// - Parameters:
    ///   - value: The value. One that cannot be encoded makes the response a 500 with the error's text.
    ///   - status: The status code.
    ///   - headers: Further fields.
    /// - Returns: The response.
    public static func json(
        _ value: some Encodable, status: Int = 200, headers: HTTPHeaders = [:]
    ) -> LocalServer.Response {
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return data(
                try encoder.encode(value), contentType: "application/json", status: status, headers: headers)
        } catch {
            return .failure(error)
        }
    }

    /// Returns a redirection.
    ///
    /// - Parameters:
    ///   - location: The `Location`: a URL, or a path on the same server.
    ///   - status: The status code.
    /// - Returns: The response.
    public static func redirect(to location: String, status: Int = 302) -> LocalServer.Response {
        .status(status, headers: HTTPHeaders([HTTPHeader(name: "Location", value: location)]))
    }

    /// Returns a response whose body is written piece by piece, as fast as the client takes it.
    ///
    /// Without a length the body is chunked, or for HTTP/1.0 ends with the connection. The connection is closed before
    /// the body is complete when the producer throws or writes less than the promised length. For a HEAD request the
    /// producer is not called.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The fields.
    ///   - length: The length of the body in bytes, if it is known.
    ///   - producer: Writes the body. Runs on the global pool, and is cancelled when the client goes away or the server
    ///     stops.
    /// - Returns: The response.
    public static func stream(
        status: Int = 200, headers: HTTPHeaders = [:], length: Int? = nil, _ producer: @escaping Producer
    ) -> LocalServer.Response {
        LocalServer.Response(status: status, headers: headers, body: Body(storage: .stream(length: length, producer)))
    }

    /// Returns a response with a body that never ends, as fast as the client takes it.
    ///
    /// - Parameters:
    ///   - piece: The bytes that the body repeats; none make it end at once.
    ///   - status: The status code.
    ///   - headers: The fields.
    /// - Returns: The response.
    public static func endless(_ piece: Data, status: Int = 200, headers: HTTPHeaders = [:]) -> LocalServer.Response {
        .stream(status: status, headers: headers) { writer in
            while !piece.isEmpty {
                try Task.checkCancellation()
                try await writer.write(piece)
            }
        }
    }

    /// Returns an answer that is made step by step, byte for byte.
    ///
    /// The connection is closed after the last step, unless that says otherwise.
    ///
    /// - Parameter steps: What to do on the connection.
    /// - Returns: The answer.
    public static func script(_ steps: LocalServer.Script.Step...) -> LocalServer.Response {
        .script(LocalServer.Script(steps))
    }

    /// Returns an answer that is made step by step, byte for byte.
    ///
    /// - Parameter script: What to do on the connection.
    /// - Returns: The answer.
    public static func script(_ script: LocalServer.Script) -> LocalServer.Response {
        LocalServer.Response(body: Body(storage: .script(script.steps)))
    }

    /// The answer when a route throws.
    static func failure(_ error: any Error) -> LocalServer.Response {
        if case .malformedBody(let status, let reason) = error as? LocalServer.Failure {
            return .text("\(reason)\n", status: status)
        }
        return .text("\(error)\n", status: 500)
    }
}
