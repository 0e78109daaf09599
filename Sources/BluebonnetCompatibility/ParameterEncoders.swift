public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

/// A type that encodes parameters into requests.
public protocol ParameterEncoder: Sendable {
    /// Encodes parameters.
    ///
    /// - Parameters:
    ///   - parameters: The parameters. With `nil`, the request is returned unchanged.
    ///   - request: The request.
    /// - Returns: The request with the parameters.
    /// - Throws: An error if the parameters cannot be encoded.
    func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: URLRequest
    ) throws -> URLRequest
}

extension JSONParameterEncoder: ParameterEncoder {}
extension URLEncodedFormParameterEncoder: ParameterEncoder {}
extension PropertyListParameterEncoder: ParameterEncoder {}

extension ParameterEncoder where Self == JSONParameterEncoder {
    /// An encoder of JSON bodies.
    public static var json: JSONParameterEncoder { JSONParameterEncoder() }

    /// An encoder of JSON bodies.
    ///
    /// - Parameter encoder: The encoder of the values.
    /// - Returns: The encoder.
    public static func json(encoder: JSONEncoder) -> JSONParameterEncoder { JSONParameterEncoder(encoder: encoder) }
}

extension ParameterEncoder where Self == URLEncodedFormParameterEncoder {
    /// An encoder of queries and forms.
    public static var urlEncodedForm: URLEncodedFormParameterEncoder { URLEncodedFormParameterEncoder() }

    /// An encoder of queries and forms.
    ///
    /// - Parameters:
    ///   - encoder: The encoder of the values.
    ///   - destination: The part of the request into which the parameters are written; by default, it depends on the
    ///     method.
    /// - Returns: The encoder.
    public static func urlEncodedForm(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(),
        destination: URLEncodedFormParameterEncoder.Destination = .methodDependent
    ) -> URLEncodedFormParameterEncoder {
        URLEncodedFormParameterEncoder(encoder: encoder, destination: destination)
    }
}
