public import FoundationEssentials

/// Encodes parameters as JSON into the body (RFC 8259).
///
/// Sets `Content-Type: application/json` unless the request has a content type.
public struct JSONParameterEncoder: ParameterEncoder {
    /// Encodes with the defaults of `JSONEncoder`.
    public static let `default` = JSONParameterEncoder()

    /// Encodes with line breaks and indentation.
    public static let prettyPrinted = JSONParameterEncoder(formatting: .prettyPrinted)

    /// Encodes with the keys of objects sorted.
    public static let sortedKeys = JSONParameterEncoder(formatting: .sortedKeys)

    private let encoder: JSONEncoder

    /// Creates an encoder.
    ///
    /// - Parameter encoder: What does the work; it must not be changed afterwards.
    public init(encoder: JSONEncoder = JSONEncoder()) {
        self.encoder = encoder
    }

    private init(formatting: JSONEncoder.OutputFormatting) {
        encoder = JSONEncoder()
        encoder.outputFormatting = formatting
    }

    /// Returns the request with the parameters as JSON in its body.
    ///
    /// - Parameters:
    ///   - parameters: What to encode; with `nil` the request stays as it is.
    ///   - request: The request to put it in.
    /// - Returns: The request with the body.
    /// - Throws: `.parameterEncoding(.encoderFailed)` with the error of the `JSONEncoder`.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws(RequestError) -> HTTPRequest {
        guard let parameters else { return request }
        let body = try wrappingErrors { try encoder.encode(parameters) }
        return request.with(body, contentType: "application/json")
    }
}

extension ParameterEncoder where Self == JSONParameterEncoder {
    /// Encodes parameters as JSON into the body.
    public static var json: JSONParameterEncoder { .default }

    /// Encodes parameters as JSON into the body.
    ///
    /// - Parameter encoder: What does the work; it must not be changed afterwards.
    /// - Returns: The encoder.
    public static func json(encoder: JSONEncoder) -> JSONParameterEncoder {
        JSONParameterEncoder(encoder: encoder)
    }
}

extension HTTPRequest {
    /// Returns the request with a body, and with a content type if it had none.
    func with(_ body: Data, contentType: String) -> HTTPRequest {
        var request = self
        request.body = .data(body)
        if !request.headers.contains("Content-Type") {
            request.headers.add(.contentType(contentType))
        }
        return request
    }
}
