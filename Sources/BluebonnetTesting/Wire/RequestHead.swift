import Bluebonnet

/// The head of a request as it was received, with what it says about the rest.
struct RequestHead: Equatable, Sendable {
    /// How the body is delimited (RFC 9112 §6.3).
    enum Framing: Equatable, Sendable {
        case none
        case length(Int)
        case chunked
    }

    var method: HTTPMethod
    var target: String
    var version: HTTPVersion
    var headers: HTTPHeaders
    var framing = Framing.none
    /// Whether the client allows the connection to be used again (RFC 9112 §9.3).
    var keepsAlive: Bool
    /// Whether the client waits for a 100 before it sends the body (RFC 9110 §10.1.1).
    var expectsContinue = false
}

/// A request's target, taken apart; any of the forms of RFC 9112 §3.2.
struct RequestTarget: Equatable {
    /// The path as sent, without scheme, host and query; `*` or `host:port` for the forms that have none.
    var path: String
    /// The query as sent, without the question mark.
    var query: String?

    init(_ target: String) {
        let bytes = target.utf8
        var start = bytes.startIndex
        if bytes.first != UInt8(ascii: "/"), let afterScheme = Self.authority(in: bytes) {
            // The absolute form, as sent to proxies.
            let isEnd = { (byte: UInt8) in byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") }
            start = bytes[afterScheme...].firstIndex(where: isEnd) ?? bytes.endIndex
        }
        let rest = target[start...]
        guard let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) else {
            path = rest.isEmpty ? "/" : String(rest)
            return
        }
        path = mark == start ? "/" : String(rest[..<mark])
        query = String(rest[rest.utf8.index(after: mark)...])
    }

    /// Where the authority begins, after `://`.
    private static func authority(in bytes: String.UTF8View) -> String.Index? {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return nil
        }
        return bytes.index(colon, offsetBy: 3)
    }
}
