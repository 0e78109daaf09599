/// Names the version of HTTP in which a response came.
@nonexhaustive
public enum HTTPVersion: Hashable, Sendable {
    /// HTTP/1.0 (RFC 1945).
    case http1_0
    /// HTTP/1.1 (RFC 9112).
    case http1_1
    /// HTTP/2 (RFC 9113).
    case http2
}

extension HTTPVersion: CustomStringConvertible {
    /// The version as it is written in a status line, such as `HTTP/1.1`, or `HTTP/2`.
    public var description: String {
        switch self {
        case .http1_0: "HTTP/1.0"
        case .http1_1: "HTTP/1.1"
        case .http2: "HTTP/2"
        }
    }
}
