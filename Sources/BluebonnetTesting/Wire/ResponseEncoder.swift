import Bluebonnet
import FoundationEssentials

/// Decides how a response goes over the wire, and writes its head; pure.
struct ResponseEncoder: Equatable {
    /// How the body is delimited.
    enum Framing: Equatable {
        /// There is no body on the wire.
        case none
        case length(Int)
        case chunked
        /// The body ends with the connection.
        case untilClose
    }

    /// What the answer depends on, of the request.
    struct Context: Equatable {
        var method: HTTPMethod
        var version: HTTPVersion
        var keepsAlive: Bool
    }

    /// The status line and the fields.
    let head: [UInt8]
    let framing: Framing
    /// Whether the connection can be used again when the response is complete.
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

        var text = "HTTP/1.1 \(response.status) \(response.reason ?? Self.reason(for: response.status))\r\n"
        for field in response.headers {
            switch field.name.utf8.count {
            case 10 where field.name.isEqualIgnoringCase(to: "connection"): continue
            case 14 where field.name.isEqualIgnoringCase(to: "content-length"):
                // Without a body on the wire it says how long the body would be (RFC 9110 §8.6).
                guard isHead || response.status == 304 else { continue }
            case 17 where field.name.isEqualIgnoringCase(to: "transfer-encoding"): continue
            default: break
            }
            text += "\(field.name): \(field.value)\r\n"
        }
        let saysLength = response.headers.value(for: "Content-Length") != nil && framing == .none
        switch isBodiless ? .none : sent {
        case .length(let length) where !saysLength: text += "Content-Length: \(length)\r\n"
        case .chunked: text += "Transfer-Encoding: chunked\r\n"
        default: break
        }
        if closes {
            text += "Connection: close\r\n"
        } else if context.version == .http1_0 {
            text += "Connection: keep-alive\r\n"
        }
        head = Array((text + "\r\n").utf8)
    }

    /// What precedes a chunk of a length.
    static func chunkHead(_ length: Int) -> [UInt8] {
        Array((String(length, radix: 16) + "\r\n").utf8)
    }

    /// What ends a chunk.
    static let chunkEnd = Array("\r\n".utf8)

    /// What ends a chunked body.
    static let lastChunk = Array("0\r\n\r\n".utf8)

    /// The interim response to a client that expects it.
    static let `continue` = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// The usual reason phrase (RFC 9110 §15).
    static func reason(for status: Int) -> String {
        switch status {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 203: "Non-Authoritative Information"
        case 204: "No Content"
        case 205: "Reset Content"
        case 206: "Partial Content"
        case 300: "Multiple Choices"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 407: "Proxy Authentication Required"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 417: "Expectation Failed"
        case 418: "I'm a teapot"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 425: "Too Early"
        case 426: "Upgrade Required"
        case 428: "Precondition Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: ""
        }
    }
}
