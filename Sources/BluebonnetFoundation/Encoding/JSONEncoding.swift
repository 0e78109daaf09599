import Bluebonnet
public import Foundation
public import FoundationNetworking

/// Encodes parameters as a JSON object into the body, with `JSONSerialization`.
public struct JSONEncoding: ParameterEncoding {
    /// Says why there is no JSON.
    @nonexhaustive
    public enum Error: Swift.Error, Hashable, Sendable {
        /// A value is none that JSON has.
        case invalidJSONObject
    }

    /// Encodes without spaces and line breaks.
    public static var `default`: JSONEncoding { JSONEncoding() }

    /// Encodes for people to read.
    public static var prettyPrinted: JSONEncoding { JSONEncoding(options: .prettyPrinted) }

    /// How the JSON is written.
    public let options: JSONSerialization.WritingOptions

    /// Creates an encoding.
    ///
    /// - Parameter options: How the JSON is written; without spaces by default.
    public init(options: JSONSerialization.WritingOptions = []) {
        self.options = options
    }

    /// Returns a request with the parameters as its body, and `Content-Type: application/json` unless it has one.
    ///
    /// - Parameters:
    ///   - urlRequest: The request without them.
    ///   - parameters: What to encode; `nil` leaves the request as it is.
    /// - Returns: The request with them.
    /// - Throws: What making the request throws, or `.parameterEncoding(.encoderFailed)` around why there is no JSON, such
    ///   as ``Error/invalidJSONObject``.
    public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
        try encode(urlRequest, withJSONObject: parameters)
    }

    /// Returns a request with an object as its body, and `Content-Type: application/json` unless it has one.
    ///
    /// - Parameters:
    ///   - urlRequest: The request without it.
    ///   - jsonObject: What `JSONSerialization` takes; `nil` leaves the request as it is.
    /// - Returns: The request with it.
    /// - Throws: What making the request throws, or `.parameterEncoding(.encoderFailed)` around why there is no JSON, such
    ///   as ``Error/invalidJSONObject``.
    public func encode(_ urlRequest: any URLRequestConvertible, withJSONObject jsonObject: Any?) throws -> URLRequest {
        var request = try urlRequest.asURLRequest()
        guard let jsonObject else { return request }
        try request.setBody(contentType: "application/json") {
            // What is none ends the process otherwise.
            guard JSONSerialization.isValidJSONObject(jsonObject) else { throw Error.invalidJSONObject }
            return try JSONSerialization.data(withJSONObject: jsonObject, options: options)
        }
        return request
    }
}

extension ParameterEncoding where Self == JSONEncoding {
    /// Encodes parameters as a JSON object into the body.
    public static var jsonEncoding: JSONEncoding { .default }
}

extension URLRequest {
    /// Makes the body, and says of what type it is unless the request does.
    mutating func setBody(contentType: String, _ encode: () throws -> Data) throws(RequestError) {
        do {
            httpBody = try encode()
        } catch {
            throw RequestError(.parameterEncoding(.encoderFailed), underlying: error)
        }
        if !headers.contains("Content-Type") { setValue(contentType, forHTTPHeaderField: "Content-Type") }
    }
}
