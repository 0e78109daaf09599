public import FoundationNetworking

/// The parameters of a request without a type of their own.
public typealias Parameters = [String: any Sendable]

/// Puts parameters of any kind into a request.
public protocol ParameterEncoding: Sendable {
    /// Returns a request with parameters.
    ///
    /// - Parameters:
    ///   - urlRequest: The request without them.
    ///   - parameters: What to encode; `nil` leaves the request as it is.
    /// - Returns: The request with them.
    /// - Throws: Why the parameters cannot be encoded.
    func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest
}
