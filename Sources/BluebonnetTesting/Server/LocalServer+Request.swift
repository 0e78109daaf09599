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
        /// In a recorded request at most ``Options/recordedBodyBytes`` of it are kept.
        public internal(set) var body: Data

        /// The length of the whole body in bytes, also if less of it was kept.
        public internal(set) var bodyLength: Int

        /// Whether the body was sent with the chunked transfer coding (RFC 9112 §7.1).
        public let bodyIsChunked: Bool

        /// Whether all of the body was received; only ``Router/streaming(_:method:continue:_:)`` records others.
        public internal(set) var bodyIsComplete = true

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
        /// - Throws: What the decoder throws. In a route, that makes the answer a 500 with the error's text.
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
