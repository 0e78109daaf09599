import Bluebonnet
import FoundationEssentials

/// Selects the framing of a response, and encodes its head; a value type without I/O.
struct ResponseEncoder: Equatable {
    /// The framing of the body.
    enum Framing: Equatable {
        /// No body is sent.
        case none
        case length(Int)
        case chunked
        /// The body ends when the connection is closed.
        case untilClose
    }

    /// The parts of the request that determine the framing of the response.
    struct Context: Equatable {
        var method: HTTPMethod
        var version: HTTPVersion
        var keepsAlive: Bool
    }

    /// The status line and the fields.
    let head: Data
    let framing: Framing
    /// Whether the connection can be reused after the response.
    let keepsAlive: Bool

    init(_ response: LocalServer.Response, length: Int?, to context: Context) {
        let isBodiless =
            (100..<200).contains(response.status) || response.status == 204 || response.status == 304
        let isHead = context.method == .head
        let sent: Framing =
            if let length { .length(length) } else if context.version == .http1_0 { .untilClose } else { .chunked }
        framing = isBodiless || isHead ? .none : sent
        let closes =
            !context.keepsAlive || framing == .untilClose
            || response.headers.values(for: "Connection").contains { $0.lowercased().contains("close") }
        keepsAlive = !closes

        var text = "HTTP/1.1 \(response.status) \(response.reason ?? Self.reason(of: response.status))\r\n"
        for field in response.headers {
            switch field.name.utf8.count {
            case 10 where field.name.isSameIgnoringCase(as: "connection"): continue
            case 14 where field.name.isSameIgnoringCase(as: "content-length"):
                // Without a body, the field states the length that the body would have (RFC 9110 §8.6).
                guard isHead || response.status == 304 else { continue }
            case 17 where field.name.isSameIgnoringCase(as: "transfer-encoding"): continue
            default: break
            }
            text += "\(field.name): \(field.value)\r\n"
        }
        let hasContentLength = response.headers.value(for: "Content-Length") != nil && framing == .none
        switch isBodiless ? .none : sent {
        case .length(let length) where !hasContentLength: text += "Content-Length: \(length)\r\n"
        case .chunked: text += "Transfer-Encoding: chunked\r\n"
        default: break
        }
        if closes {
            text += "Connection: close\r\n"
        } else if context.version == .http1_0 {
            text += "Connection: keep-alive\r\n"
        }
        head = Data((text + "\r\n").utf8)
    }

    /// Returns the line before a chunk with a certain length.
    static func chunkHead(_ length: Int) -> Data {
        Data((String(length, radix: 16) + "\r\n").utf8)
    }

    /// The end of a chunk.
    static let chunkEnd = Data("\r\n".utf8)

    /// The end of a chunked body.
    static let lastChunk = Data("0\r\n\r\n".utf8)

    /// The interim response 100 (Continue).
    static let `continue` = Data("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// Returns the standard reason phrase of a status code, or an empty text for an unknown code.
    static func reason(of status: Int) -> String { reasons[status] ?? "" }

    /// The standard reason phrases (RFC 9110 §15).
    private static let reasons = [
        100: "Continue", 101: "Switching Protocols", 200: "OK", 201: "Created", 202: "Accepted",
        203: "Non-Authoritative Information", 204: "No Content", 205: "Reset Content", 206: "Partial Content",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized",
        403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
        407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
        411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large", 414: "URI Too Long",
        415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed", 418: "I'm a teapot",
        421: "Misdirected Request", 422: "Unprocessable Content", 425: "Too Early", 426: "Upgrade Required",
        428: "Precondition Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported",
    ]
}
