public import FoundationEssentials

/// Encodes parameters as a property list into the body.
///
/// Sets `Content-Type: application/x-plist` unless the request has a content type.
public struct PropertyListParameterEncoder: ParameterEncoder {
    /// Encodes as an XML property list.
    public static let `default` = PropertyListParameterEncoder(format: .xml)

    /// Encodes as a binary property list.
    public static let binary = PropertyListParameterEncoder(format: .binary)

    private let encoder: PropertyListEncoder

    /// Creates an encoder.
    ///
    /// - Parameter encoder: What does the work; it must not be changed afterwards.
    public init(encoder: PropertyListEncoder) {
        self.encoder = encoder
    }

    private init(format: PropertyListDecoder.PropertyListFormat) {
        encoder = PropertyListEncoder()
        encoder.outputFormat = format
    }

    /// Returns the request with the parameters as a property list in its body.
    ///
    /// - Parameters:
    ///   - parameters: What to encode; with `nil` the request stays as it is.
    ///   - request: The request to put it in.
    /// - Returns: The request with the body.
    /// - Throws: `.parameterEncoding(.encoderFailed)` with the error of the `PropertyListEncoder`.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws(RequestError) -> HTTPRequest {
        guard let parameters else { return request }
        let body = try wrappingErrors { try encoder.encode(parameters) }
        return request.with(body, contentType: "application/x-plist")
    }
}

extension ParameterEncoder where Self == PropertyListParameterEncoder {
    /// Encodes parameters as an XML property list into the body.
    public static var propertyList: PropertyListParameterEncoder { .default }

    /// Encodes parameters as a property list into the body.
    ///
    /// - Parameter encoder: What does the work; it must not be changed afterwards.
    /// - Returns: The encoder.
    public static func propertyList(encoder: PropertyListEncoder) -> PropertyListParameterEncoder {
        PropertyListParameterEncoder(encoder: encoder)
    }
}
