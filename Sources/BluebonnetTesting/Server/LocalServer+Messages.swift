public import Bluebonnet
public import FoundationEssentials

extension LocalServer {
    /// A request as the server received it.
    public struct Request: Sendable {
        /// The method.
        public let method: HTTPMethod

        /// The request target, exactly as sent (RFC 9112 §3.2).
        public let target: String

        /// The path of the target as sent, percent-encoded, without the query.
        public let path: String

        /// The query of the target as sent, percent-encoded, without the question mark.
        public let query: String?

        /// The version of HTTP that the client spoke.
        public let httpVersion: HTTPVersion

        /// The fields, in the order and spelling in which they came.
        public let headers: HTTPHeaders

        /// The body, without the framing of a chunked one.
        ///
        /// In a recorded request at most 1 MiB of it is kept, unless the server was made with another limit.
        public internal(set) var body: Data

        /// The length of the whole body in bytes, also if less of it was kept.
        public internal(set) var bodyLength: Int

        /// Whether the body was sent with the chunked transfer coding (RFC 9112 §7.1).
        package let bodyIsChunked: Bool

        /// Whether all of the body was received; only ``Router/streaming(_:method:continue:_:)`` records others.
        package internal(set) var bodyIsComplete = true

        /// The fields that came after a chunked body.
        public let trailers: HTTPHeaders

        /// The values of the path's segments that the route names with a colon, percent-decoded.
        public internal(set) var parameters: [String: String] = [:]

        /// The number of the connection it came on; 1 for the server's first.
        public let connection: Int

        /// The number of the request on this server, in the order of completion; 1 for the first.
        public internal(set) var sequence = 0

        /// The body as text, with what is not UTF-8 replaced.
        public var text: String { String(decoding: body, as: UTF8.self) }

        /// The names and values of the query, decoded as a form: `+` is a space.
        public var queryItems: [(name: String, value: String)] {
            (query ?? "").split(separator: "&").map { item in
                let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return (
                    parts.first?.percentDecoded(plusIsSpace: true) ?? "",
                    parts.count > 1 ? parts[1].percentDecoded(plusIsSpace: true) : ""
                )
            }
        }

        /// Returns the first value of a name in the query, decoded as a form.
        ///
        /// - Parameter name: The decoded name.
        /// - Returns: The decoded value; empty if the name stands alone, `nil` if it is not there.
        public func queryValue(_ name: String) -> String? {
            queryItems.first { $0.name == name }?.value
        }

        /// Decodes the body as JSON.
        ///
        /// - Parameter type: The type to decode.
        /// - Returns: The decoded value.
        /// - Throws: The decoder's error. In a route, it makes the answer a 500 with the error's text.
        public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            try JSONDecoder().decode(type, from: body)
        }
    }
}

extension LocalServer.Request {
    init(_ head: RequestHead, target: RequestTarget, body: Data, trailers: HTTPHeaders, connection: Int) {
        self.init(
            method: head.method, target: head.target, path: target.path, query: target.query,
            httpVersion: head.version, headers: head.headers, body: body, bodyLength: body.count,
            bodyIsChunked: head.framing == .chunked, trailers: trailers, connection: connection)
    }
}

extension LocalServer.Request: CustomStringConvertible {
    /// The method and the path; the query is left out, since it may hold a secret.
    public var description: String { "\(method.rawValue) \(path)" }
}

extension LocalServer {
    /// The answer of a route.
    ///
    /// The server takes care of the framing: it sets `Content-Length` or `Transfer-Encoding` to what is right, sends no
    /// body where there must be none (HEAD, 1xx, 204, 304), and honours a `Connection: close` among the fields. What
    /// breaks the rules of HTTP on purpose is written byte by byte, as a ``Script``.
    public struct Response: Sendable {
        /// Sends a body; see ``stream(status:headers:length:_:)``.
        package typealias Producer = @Sendable (BodyWriter) async throws -> Void

        /// The status code.
        public var status: Int

        /// The reason phrase; `nil` for the usual one.
        public var reason: String?

        /// The fields.
        public var headers: HTTPHeaders

        /// The body.
        package var body: Body

        /// Creates a response.
        ///
        /// - Parameters:
        ///   - status: The status code.
        ///   - reason: The reason phrase; `nil` for the usual one.
        ///   - headers: The fields.
        ///   - body: The body; none by default.
        public init(status: Int = 200, reason: String? = nil, headers: HTTPHeaders = [:], body: Data = Data()) {
            self.init(status: status, reason: reason, headers: headers, body: .data(body))
        }

        package init(status: Int = 200, reason: String? = nil, headers: HTTPHeaders = [:], body: Body) {
            self.status = status
            self.reason = reason
            self.headers = headers
            self.body = body
        }

        /// The body of a response.
        package struct Body: Sendable {
            enum Storage: Sendable {
                case data(Data)
                case stream(length: Int?, Producer)
                case script([Script.Step])
            }

            let storage: Storage

            /// No body.
            package static let empty = Body(storage: .data(Data()))

            /// Returns a body of bytes.
            ///
            /// - Parameter data: The bytes.
            /// - Returns: The body.
            package static func data(_ data: Data) -> Body { Body(storage: .data(data)) }

            /// Returns a body of text in UTF-8.
            ///
            /// - Parameter text: The text.
            /// - Returns: The body.
            package static func text(_ text: String) -> Body { .data(Data(text.utf8)) }
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
            return data(try sortedJSON(value), contentType: "application/json", status: status, headers: headers)
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
        status: Int = 200, headers: HTTPHeaders = [:], length: Int? = nil,
        _ producer: @escaping @Sendable (_ writer: LocalServer.BodyWriter) async throws -> Void
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

extension HTTPHeaders {
    /// The fields with a content type, unless they have one already.
    func including(contentType: String) -> HTTPHeaders {
        guard !contains("Content-Type") else { return self }
        var headers = self
        headers.append(name: "Content-Type", value: contentType)
        return headers
    }
}

extension LocalServer.Response {
    /// Whether user code has to run to send it.
    func needsTask(for method: HTTPMethod) -> Bool {
        guard case .stream = body.storage else { return false }
        return method != .head
    }
}

/// A value as JSON, with its keys sorted.
func sortedJSON(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(value)
}
