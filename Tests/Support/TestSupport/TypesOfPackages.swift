// Types as other packages have them, for a test that their names stay theirs beside Bluebonnet.

/// A response, as web frameworks have one.
public struct Response: Sendable {
    /// The status code.
    public let status: Int

    /// Creates a response.
    public init(status: Int) { self.status = status }
}

/// A generic type.
public struct Timeout<Unit: Sendable>: Sendable {
    /// The time.
    public let value: Unit

    /// Creates a time limit.
    public init(_ value: Unit) { self.value = value }
}

/// A protocol.
public protocol SessionDelegate {
    /// A name.
    func name() -> String
}

/// An alias.
public typealias CookieJar = [String: String]

/// A class.
public final class Limits: Sendable {
    /// Creates limits.
    public init() {}
}

/// An error.
public enum HTTPError: Error {
    /// The status code of a response.
    case status(Int)
}
