import Foundation
public import FoundationNetworking

/// The parameters of a request by name, without a type of their own.
///
/// As values serve text, numbers, `Bool`, arrays and dictionaries of such, and any other `Encodable` value that the
/// encoding knows how to write. In Swift 6 mode, a nested literal of values of several types needs to be told that they
/// are sendable: `["a", 1] as [any Sendable]`. Methods that take parameters take a `[String: Any]`, too.
public typealias Parameters = [String: any Sendable]

/// Puts parameters without a type of their own into a request.
///
/// For code that has such parameters; `ParameterEncoder` does the same for `Encodable` ones.
public protocol ParameterEncoding: Sendable {
    /// Returns a request with parameters.
    ///
    /// Runs on the global pool, or on the executor that the awaiting task prefers, when the request has been started, and
    /// again for each attempt.
    ///
    /// - Parameters:
    ///   - urlRequest: The request without them.
    ///   - parameters: What to encode; `nil` leaves the request as it is.
    /// - Returns: The request with them.
    /// - Throws: Why the parameters cannot be encoded. A `RequestError` is reported as it is, another error as
    ///   `.parameterEncoding(.encoderFailed)` with it as the underlying one.
    func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest
}

extension ParameterEncoding {
    /// Returns a request with parameters of which the compiler does not know that they are sendable.
    ///
    /// They are copied first: text, numbers, dates, data, URLs, UUIDs, `NSNull` and arrays and dictionaries of such.
    ///
    /// - Parameters:
    ///   - urlRequest: The request without them.
    ///   - parameters: What to encode; `nil` leaves the request as it is.
    /// - Returns: The request with them.
    /// - Throws: Why the parameters cannot be copied or encoded.
    @_disfavoredOverload
    public func encode(
        _ urlRequest: any URLRequestConvertible, with parameters: [String: Any]?
    ) throws -> URLRequest {
        try encode(urlRequest, with: parameters.map { try ParameterCopy.copy($0) })
    }
}
