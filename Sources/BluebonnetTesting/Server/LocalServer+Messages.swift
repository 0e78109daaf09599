public import Bluebonnet
public import FoundationEssentials

extension LocalServer {
    /// A request as the server received it.
    public struct Request: Sendable {
        /// The HTTP method.
        public let method: HTTPMethod

        /// The request target exactly as it was sent (RFC 9112 §3.2).
        public let target: String

        /// The percent-encoded path of the request target, as it was sent.
        public let path: String

        /// The query of the request target; empty if there is no query.
        public let query: Query

        /// The HTTP version of the request.
        public let httpVersion: HTTPVersion

        /// The header fields in their original order and spelling.
        public let headers: HTTPHeaders

        /// The body without chunked framing.
        ///
        /// A recorded request contains only the first bytes of the body, up to the `recordedBodyBytes` of the server.
        /// This limit is 1 MiB by default.
        public internal(set) var body: Data

        /// The length of the whole body in bytes, including bytes that were not recorded.
        public internal(set) var bodyLength: Int

        /// Whether the body was sent with the chunked transfer coding (RFC 9112 §7.1).
        package let bodyIsChunked: Bool

        /// Whether the whole body was received.
        ///
        /// This property can be `false` only for requests to ``Router/streaming(_:method:continue:_:)`` routes.
        package internal(set) var bodyIsComplete = true

        /// The trailer fields after a chunked body.
        public let trailers: HTTPHeaders

        /// The percent-decoded values of the `:name` segments of the route's path, by name.
        public internal(set) var parameters: [String: String] = [:]

        /// The number of the connection, in the order in which the server accepted its connections; 1 for the first
        /// connection.
        public let connection: Int

        /// The number of the request, in the order in which the server recorded its requests; 1 for the first request.
        public internal(set) var sequence = 0

        /// The body as UTF-8 text; U+FFFD replaces malformed bytes.
        public var text: String { String(decoding: body, as: UTF8.self) }

        /// Decodes the body as JSON.
        ///
        /// - Parameter type: The type to decode.
        /// - Returns: The decoded value.
        /// - Throws: The decoder's error. If a route rethrows this error, the server responds with 500 and the text of
        ///   the error.
        public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            try JSONDecoder().decode(type, from: body)
        }
    }
}

extension LocalServer.Request {
    /// The query of a request target, with access by name.
    ///
    /// ```swift
    /// router.get("/search") { request in .text("results for \(request.query["q"] ?? "nothing")") }
    /// ```
    public struct Query: Hashable, Sendable, ExpressibleByStringLiteral {
        /// The query as it was sent, without the question mark.
        public let text: String

        /// Creates a query from its percent-encoded text.
        ///
        /// - Parameter text: The text without the question mark.
        public init(_ text: String) { self.text = text }

        /// Creates a query from a literal.
        ///
        /// - Parameter value: The text without the question mark.
        public init(stringLiteral value: String) { self.init(value) }

        /// The decoded names and values, in their order.
        ///
        /// The query is decoded as a form, so a `+` is decoded as a space. A value is empty if its name has no value.
        public var items: [(name: String, value: String)] {
            text.split(separator: "&").map { item in
                let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return (
                    parts.first?.percentDecoded(plusIsSpace: true) ?? "",
                    parts.count > 1 ? parts[1].percentDecoded(plusIsSpace: true) : ""
                )
            }
        }

        /// The first decoded value for a decoded name; `nil` if the query does not contain the name.
        ///
        /// - Parameter name: The decoded name.
        public subscript(_ name: String) -> String? { items.first { $0.name == name }?.value }
    }

    init(_ head: RequestHead, target: RequestTarget, body: Data, trailers: HTTPHeaders, connection: Int) {
        self.init(
            method: head.method, target: head.target, path: target.path, query: Query(target.query ?? ""),
            httpVersion: head.version, headers: head.headers, body: body, bodyLength: body.count,
            bodyIsChunked: head.framing == .chunked, trailers: trailers, connection: connection)
    }
}

extension LocalServer.Request: CustomStringConvertible {
    /// The method and the path.
    ///
    /// The query is left out, because it may contain a secret.
    public var description: String { "\(method.rawValue) \(path)" }
}

extension LocalServer {
    /// The response of a route.
    ///
    /// The server itself adds the field `Content-Length` or `Transfer-Encoding`. If HTTP does not allow a body (HEAD,
    /// 1xx, 204 and 304), the server sends no body. If the response has the field `Connection: close`, the server
    /// closes the connection after the response. To violate HTTP deliberately, use a ``Script``.
    public struct Response: Sendable {
        /// A closure that writes the body of a streamed response; see ``stream(status:headers:length:_:)``.
        package typealias Producer = @Sendable (BodyWriter) async throws -> Void

        /// The status code.
        public var status = 200

        /// The reason phrase; `nil` selects the standard phrase.
        public var reason: String?

        /// The header fields.
        public var headers: HTTPHeaders = [:]

        /// The response body.
        package var body: Body

        /// The time that the server waits before it sends the response.
        var delay: Duration?

        /// The body of a response.
        package enum Body: Sendable {
            case data(Data)
            case stream(length: Int?, Producer)
            case script([Script.Step])
        }
    }
}

extension LocalServer.Response {
    /// Creates a response.
    ///
    /// - Parameters:
    ///   - status: The status code; 200 by default.
    ///   - reason: The reason phrase; `nil`, the default, selects the standard phrase.
    ///   - headers: The header fields; none by default.
    ///   - body: The response body; empty by default.
    public init(status: Int = 200, reason: String? = nil, headers: HTTPHeaders = [:], body: Data = Data()) {
        self.init(status: status, reason: reason, headers: headers, body: .data(body))
    }

    /// Returns the same response, before which the server waits.
    ///
    /// - Parameter delay: The time between the request and the response.
    /// - Returns: The delayed response.
    public func delayed(by delay: Duration) -> LocalServer.Response {
        var response = self
        response.delay = (response.delay ?? .zero) + delay
        return response
    }

    /// A response with the status 200 and no body.
    public static let ok = LocalServer.Response()

    /// Creates a response without a body.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The header fields; none by default.
    /// - Returns: The new response.
    public static func status(_ status: Int, headers: HTTPHeaders = [:]) -> LocalServer.Response {
        LocalServer.Response(status: status, headers: headers)
    }

    /// Creates a response with bytes as its body.
    ///
    /// - Parameters:
    ///   - data: The bytes of the body.
    ///   - contentType: The media type; `application/octet-stream` by default. A `Content-Type` in `headers` takes
    ///     precedence.
    ///   - status: The status code; 200 by default.
    ///   - headers: Further header fields; none by default.
    /// - Returns: The new response.
    public static func data(
        _ data: Data, contentType: String = "application/octet-stream", status: Int = 200, headers: HTTPHeaders = [:]
    ) -> LocalServer.Response {
        LocalServer.Response(status: status, headers: headers.including(contentType: contentType), body: .data(data))
    }

    /// Creates a response with text as its body, in UTF-8.
    ///
    /// - Parameters:
    ///   - text: The text of the body.
    ///   - contentType: The media type; `text/plain; charset=utf-8` by default. A `Content-Type` in `headers` takes
    ///     precedence.
    ///   - status: The status code; 200 by default.
    ///   - headers: Further header fields; none by default.
    /// - Returns: The new response.
    public static func text(
        _ text: String, contentType: String = "text/plain; charset=utf-8", status: Int = 200,
        headers: HTTPHeaders = [:]
    ) -> LocalServer.Response {
        data(Data(text.utf8), contentType: contentType, status: status, headers: headers)
    }

    /// Creates a response whose body is a value in JSON, with sorted keys.
    ///
    /// - Parameters:
    ///   - value: The value to encode. If it cannot be encoded, the response has the status 500 and the text of the
    ///     error.
    ///   - status: The status code; 200 by default.
    ///   - headers: Further header fields; none by default.
    /// - Returns: The new response.
    public static func json(
        _ value: some Encodable, status: Int = 200, headers: HTTPHeaders = [:]
    ) -> LocalServer.Response {
        do {
            return data(try sortedJSON(value), contentType: "application/json", status: status, headers: headers)
        } catch {
            return .failure(error)
        }
    }

    /// Creates a redirect.
    ///
    /// - Parameters:
    ///   - location: The value of `Location`: a URL, or a path on this server.
    ///   - status: The status code; 302 by default.
    /// - Returns: The new response.
    public static func redirect(to location: String, status: Int = 302) -> LocalServer.Response {
        .status(status, headers: HTTPHeaders([HTTPHeader(name: "Location", value: location)]))
    }

    /// Creates a response whose body is written by a closure, in pieces.
    ///
    /// If the client reads slowly, each write suspends until the client has read enough. For a HEAD request, the
    /// closure is not called.
    ///
    /// Without a length, the server sends a chunked body. An HTTP/1.0 client cannot read a chunked body. For such a
    /// client, the server closes the connection at the end of the body instead.
    ///
    /// If the closure throws an error or writes fewer bytes than the length, the server closes the connection. The
    /// client then receives an incomplete body.
    ///
    /// - Parameters:
    ///   - status: The status code; 200 by default.
    ///   - headers: The header fields; none by default.
    ///   - length: The length of the body in bytes; `nil`, the default, if it is not known.
    ///   - producer: A closure that writes the body. It runs on the global executor. Its task is cancelled when the
    ///     client disconnects or the server stops.
    /// - Returns: The new response.
    public static func stream(
        status: Int = 200, headers: HTTPHeaders = [:], length: Int? = nil,
        _ producer: @escaping @Sendable (_ writer: LocalServer.BodyWriter) async throws -> Void
    ) -> LocalServer.Response {
        LocalServer.Response(status: status, headers: headers, body: .stream(length: length, producer))
    }

    /// Creates a response with an endless body, which the server sends as fast as the client reads it.
    ///
    /// - Parameters:
    ///   - piece: The bytes that the body repeats. If there are no bytes, the body is empty.
    ///   - status: The status code; 200 by default.
    ///   - headers: The header fields; none by default.
    /// - Returns: The new response.
    public static func endless(_ piece: Data, status: Int = 200, headers: HTTPHeaders = [:]) -> LocalServer.Response {
        .stream(status: status, headers: headers) { writer in
            while !piece.isEmpty {
                try Task.checkCancellation()
                try await writer.write(piece)
            }
        }
    }

    /// Creates a response that consists of the steps of a script, which specify every byte.
    ///
    /// After the last step, the server closes the connection. There are two exceptions: after
    /// ``LocalServer/Script/Step/serve`` the routes handle further requests, and ``LocalServer/Script/Step/stall``
    /// keeps the connection open.
    ///
    /// - Parameter steps: The steps to perform on the connection.
    /// - Returns: The new response.
    public static func script(_ steps: LocalServer.Script.Step...) -> LocalServer.Response {
        .script(LocalServer.Script(steps))
    }

    /// Creates a response that consists of the steps of a script, which specify every byte.
    ///
    /// After the last step, the server closes the connection. There are two exceptions: after
    /// ``LocalServer/Script/Step/serve`` the routes handle further requests, and ``LocalServer/Script/Step/stall``
    /// keeps the connection open.
    ///
    /// - Parameter script: The steps to perform on the connection.
    /// - Returns: The new response.
    public static func script(_ script: LocalServer.Script) -> LocalServer.Response {
        LocalServer.Response(body: .script(script.steps))
    }

    /// Returns the response for an error that a route throws.
    static func failure(_ error: any Error) -> LocalServer.Response {
        if case .malformedBody(let status, let reason) = error as? LocalServer.Failure {
            return .text("\(reason)\n", status: status)
        }
        return .text("\(error)\n", status: 500)
    }
}

extension HTTPHeaders {
    /// Returns the fields with a content type added, unless there is already a content type.
    func including(contentType: String) -> HTTPHeaders {
        guard !contains("Content-Type") else { return self }
        var headers = self
        headers.append(name: "Content-Type", value: contentType)
        return headers
    }
}

/// Returns a value as JSON with sorted keys.
func sortedJSON(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(value)
}
