/// Names what a request asks of a resource (RFC 9110 §9).
///
/// Methods are case-sensitive. Any token is a method; the well-known ones are here as constants.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
    /// Asks a proxy for a tunnel.
    public static let connect = HTTPMethod(rawValue: "CONNECT")
    /// Removes the resource.
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// Fetches a representation.
    public static let get = HTTPMethod(rawValue: "GET")
    /// Fetches what a GET would, without the body.
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// Asks what the resource can do.
    public static let options = HTTPMethod(rawValue: "OPTIONS")
    /// Changes a part of the resource (RFC 5789).
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// Hands the resource something to process.
    public static let post = HTTPMethod(rawValue: "POST")
    /// Replaces the resource.
    public static let put = HTTPMethod(rawValue: "PUT")
    /// Fetches what the body asks for, safely and idempotently.
    public static let query = HTTPMethod(rawValue: "QUERY")
    /// Asks for the request as the server received it.
    public static let trace = HTTPMethod(rawValue: "TRACE")

    /// The method as it is sent.
    public let rawValue: String

    /// Creates a method.
    ///
    /// - Parameter rawValue: The method as it is sent; what is not a token is refused when a request is started.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Whether the method is a token (RFC 9110 §5.6.2).
    package var isValid: Bool { rawValue.utf8.isToken }

    /// Whether doing it twice is like doing it once (RFC 9110 §9.2.2); unknown methods are taken not to be.
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .put, .delete, .options, .trace, .query: true
        default: false
        }
    }
}

extension HTTPMethod: CustomStringConvertible {
    /// The method as it is sent.
    public var description: String { rawValue }
}
