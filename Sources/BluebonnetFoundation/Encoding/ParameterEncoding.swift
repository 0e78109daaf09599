public import Bluebonnet
public import Foundation
public import FoundationNetworking

/// The untyped parameters of a request: a dictionary with values of different types.
///
/// A value can be text, a number, a `Bool`, another `Encodable` value, or an array or a dictionary of these values. In
/// the Swift 6 language mode, write a nested array with elements of several types as `["a", 1] as [any Sendable]`.
/// Methods that take `Parameters` also accept a `[String: Any]`.
public typealias Parameters = [String: any Sendable]

/// Encodes untyped parameters (a dictionary) into a request.
///
/// For `Encodable` parameters, use a `ParameterEncoder`.
public protocol ParameterEncoding: Sendable {
    /// Returns a request with the parameters encoded into it.
    ///
    /// After the request has been started, Bluebonnet calls this method on the global executor. It calls the method
    /// once for the first attempt, and once for each retry. Until the first HTTP request is sent, `cURLDescription()`
    /// and `debugDescription` of the `Request` also call this method, on the thread of their caller.
    ///
    /// - Parameters:
    ///   - urlRequest: The request without the parameters.
    ///   - parameters: The parameters to encode; `nil` returns the request unchanged.
    /// - Returns: The request with the parameters.
    /// - Throws: The reason why the parameters cannot be encoded. A `RequestError` is reported unchanged. Any other
    ///   error becomes the underlying error of `.parameterEncoding(.encoderFailed)`.
    func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest
}

extension ParameterEncoding {
    /// Returns a request with parameters of any type encoded into it.
    ///
    /// This method first copies the parameters to sendable values. A value can be text, a number, a `Bool`, a date,
    /// data, a URL, a UUID, `NSNull`, or an array or a dictionary of these values.
    ///
    /// - Parameters:
    ///   - urlRequest: The request without the parameters.
    ///   - parameters: The parameters to encode; `nil` returns the request unchanged.
    /// - Returns: The request with the parameters.
    /// - Throws: `.parameterEncoding(.encoderFailed)` if a value cannot be copied, or the error of the encoding.
    @_disfavoredOverload
    public func encode(
        _ urlRequest: any URLRequestConvertible, with parameters: [String: Any]?
    ) throws -> URLRequest {
        try encode(urlRequest, with: parameters.map { try ParameterCopy.copy($0) })
    }
}

/// Encodes parameters as URL-encoded names and values into the query or the body.
///
/// The format is the same as for `URLEncodedFormParameterEncoder`, with one exception: the keys of dictionaries are
/// sorted, but the elements of arrays and the properties of `Encodable` values keep their order. By default, an array
/// is encoded as `key[]=…`, and a dictionary as `key[name]=…`. `nil` and `NSNull` are left out. A value that is not
/// `Encodable` is encoded as its description.
public struct URLEncoding: ParameterEncoding {
    /// An encoding that writes the parameters into the query for GET, HEAD and DELETE, and into the body for other
    /// methods.
    public static var `default`: URLEncoding { URLEncoding() }

    /// An encoding that writes the parameters into the query of the URL.
    public static var queryString: URLEncoding { URLEncoding(destination: .queryString) }

    /// An encoding that writes the parameters into the body.
    public static var httpBody: URLEncoding { URLEncoding(destination: .httpBody) }

    /// The part of the request into which the parameters are written.
    public let destination: URLEncodedFormParameterEncoder.Destination

    /// The format of the keys of array elements.
    public let arrayEncoding: URLEncodedFormEncoder.ArrayEncoding

    /// The format of a `Bool`.
    public let boolEncoding: URLEncodedFormEncoder.BoolEncoding

    /// Creates an encoding.
    ///
    /// - Parameters:
    ///   - destination: The part of the request into which the parameters are written; by default, it depends on the
    ///     method.
    ///   - arrayEncoding: The format of the keys of array elements; `key[]` by default.
    ///   - boolEncoding: The format of a `Bool`; `1` and `0` by default.
    public init(
        destination: URLEncodedFormParameterEncoder.Destination = .methodDependent,
        arrayEncoding: URLEncodedFormEncoder.ArrayEncoding = .brackets,
        boolEncoding: URLEncodedFormEncoder.BoolEncoding = .numeric
    ) {
        self.destination = destination
        self.arrayEncoding = arrayEncoding
        self.boolEncoding = boolEncoding
    }

    /// Returns a request with the parameters as its body, or appended to its query.
    ///
    /// If the parameters become the body, the request also receives a `Content-Type` of
    /// `application/x-www-form-urlencoded; charset=utf-8`. An existing `Content-Type` is kept.
    ///
    /// - Parameters:
    ///   - urlRequest: The request without the parameters.
    ///   - parameters: The parameters to encode; `nil` returns the request unchanged.
    /// - Returns: The request with the parameters.
    /// - Throws: The error that the conversion of `urlRequest` throws, or `.invalidURL` if the request has no URL. If a
    ///   value cannot be encoded, the error is `.parameterEncoding(.encoderFailed)`. Its underlying error names the
    ///   reason.
    @_disfavoredOverload  // With Swift 6.2, a `[String: Any]` would otherwise be an error.
    public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
        let request = try urlRequest.asURLRequest()
        guard let parameters else { return request }
        let encoder = URLEncodedFormParameterEncoder(encoder: encoder, destination: destination)
        return try encoder.encode(EncodableParameters(parameters: parameters), into: request)
    }

    /// Returns the percent-encoded names and values for one parameter.
    ///
    /// - Parameters:
    ///   - key: The parameter's name.
    ///   - value: The parameter's value.
    /// - Returns: The names and values; an empty array if the value cannot be encoded.
    public func queryComponents(fromKey key: String, value: Any) -> [(String, String)] {
        let pairs: String? = try? encoder.encode(ParameterValue.members([key: value]))
        return (pairs ?? "").split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), String(parts.count > 1 ? parts[1] : ""))
        }
    }

    /// Percent-encodes a text for a query.
    ///
    /// ASCII letters, digits and the characters `-._~/?` are not encoded.
    ///
    /// - Parameter string: The text to escape.
    /// - Returns: The escaped text.
    public func escape(_ string: String) -> String {
        queryComponents(fromKey: "", value: string).first?.1 ?? ""
    }

    private var encoder: URLEncodedFormEncoder {
        // The keys are already sorted, and the elements of arrays keep their order.
        URLEncodedFormEncoder(
            alphabetizeKeyValuePairs: false, arrayEncoding: arrayEncoding, boolEncoding: boolEncoding)
    }
}

/// Untyped parameters as an `Encodable` value for Bluebonnet's encoders.
private struct EncodableParameters: Encodable, Sendable {
    let parameters: Parameters

    func encode(to encoder: any Encoder) throws { try ParameterValue.members(parameters).encode(to: encoder) }
}

/// Encodes parameters as a JSON object into the body with `JSONSerialization`.
public struct JSONEncoding: ParameterEncoding {
    /// The reasons why an object cannot be written as JSON.
    @nonexhaustive
    public enum Error: Swift.Error, Hashable, Sendable {
        /// A value cannot be represented in JSON.
        case invalidJSONObject
    }

    /// An encoding without white space between values.
    public static var `default`: JSONEncoding { JSONEncoding() }

    /// An encoding with indentation and line breaks.
    public static var prettyPrinted: JSONEncoding { JSONEncoding(options: .prettyPrinted) }

    /// The options of the JSON writer.
    public let options: JSONSerialization.WritingOptions

    /// Creates an encoding.
    ///
    /// - Parameter options: The options of the JSON writer; none by default.
    public init(options: JSONSerialization.WritingOptions = []) {
        self.options = options
    }

    /// Returns a request with the parameters as its body, encoded as a JSON object.
    ///
    /// The request also receives `Content-Type: application/json`. An existing `Content-Type` is kept.
    ///
    /// - Parameters:
    ///   - urlRequest: The request without the parameters.
    ///   - parameters: The parameters to encode; `nil` returns the request unchanged.
    /// - Returns: The request with the parameters.
    /// - Throws: The error that the conversion of `urlRequest` throws. If the encoding fails, the error is
    ///   `.parameterEncoding(.encoderFailed)` with an underlying error such as ``Error/invalidJSONObject``.
    @_disfavoredOverload  // With Swift 6.2, a `[String: Any]` would otherwise be an error.
    public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
        try encode(urlRequest, withJSONObject: parameters)
    }

    /// Returns a request with a JSON object as its body.
    ///
    /// The request also receives `Content-Type: application/json`. An existing `Content-Type` is kept.
    ///
    /// - Parameters:
    ///   - urlRequest: The request without the object.
    ///   - jsonObject: An object that `JSONSerialization` can write; `nil` returns the request unchanged.
    /// - Returns: The request with the object.
    /// - Throws: The error that the conversion of `urlRequest` throws. If the encoding fails, the error is
    ///   `.parameterEncoding(.encoderFailed)` with an underlying error such as ``Error/invalidJSONObject``.
    public func encode(_ urlRequest: any URLRequestConvertible, withJSONObject jsonObject: Any?) throws -> URLRequest {
        var request = try urlRequest.asURLRequest()
        guard let jsonObject else { return request }
        try request.setBody(contentType: "application/json") {
            // `JSONSerialization` stops the process if the object is invalid, so the object is checked first.
            guard JSONSerialization.isValidJSONObject(jsonObject) else { throw Error.invalidJSONObject }
            return try JSONSerialization.data(withJSONObject: jsonObject, options: options)
        }
        return request
    }
}

extension URLRequest {
    /// Sets the body, and adds a `Content-Type` if the request has no `Content-Type`.
    mutating func setBody(contentType: String, _ encode: () throws -> Data) throws(RequestError) {
        do {
            httpBody = try encode()
        } catch {
            throw RequestError(.parameterEncoding(.encoderFailed), underlying: error)
        }
        if !headers.contains("Content-Type") { setValue(contentType, forHTTPHeaderField: "Content-Type") }
    }
}

/// Encodes parameters as a property list into the body with `PropertyListSerialization`.
public struct PropertyListEncoding: ParameterEncoding {
    /// The reasons why parameters cannot be written as a property list.
    package enum Error: Swift.Error, Hashable, Sendable {
        /// A value, such as `NSNull`, cannot be represented in a property list.
        case invalidPropertyList
    }

    /// An encoding in the XML format.
    public static var `default`: PropertyListEncoding { PropertyListEncoding() }

    /// An encoding in the XML format.
    public static var xml: PropertyListEncoding { PropertyListEncoding(format: .xml) }

    /// An encoding in the binary format.
    public static var binary: PropertyListEncoding { PropertyListEncoding(format: .binary) }

    /// The format of the property list.
    public let format: PropertyListSerialization.PropertyListFormat

    /// The options of the property list writer; Foundation currently defines none.
    public let options: PropertyListSerialization.WriteOptions

    /// Creates an encoding.
    ///
    /// - Parameters:
    ///   - format: The format of the property list; XML by default.
    ///   - options: The options of the property list writer. Foundation currently defines none.
    public init(
        format: PropertyListSerialization.PropertyListFormat = .xml,
        options: PropertyListSerialization.WriteOptions = 0
    ) {
        self.format = format
        self.options = options
    }

    /// Returns a request with the parameters as its body, encoded as a property list.
    ///
    /// The request also receives `Content-Type: application/x-plist`. An existing `Content-Type` is kept.
    ///
    /// - Parameters:
    ///   - urlRequest: The request without the parameters.
    ///   - parameters: The parameters to encode; `nil` returns the request unchanged.
    /// - Returns: The request with the parameters.
    /// - Throws: The error that the conversion of `urlRequest` throws. If the encoding fails, the error is
    ///   `.parameterEncoding(.encoderFailed)` with the reason as its underlying error.
    @_disfavoredOverload  // With Swift 6.2, a `[String: Any]` would otherwise be an error.
    public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
        var request = try urlRequest.asURLRequest()
        guard let parameters else { return request }
        try request.setBody(contentType: "application/x-plist") {
            guard PropertyListSerialization.propertyList(parameters, isValidFor: format) else {
                throw Error.invalidPropertyList
            }
            return try PropertyListSerialization.data(fromPropertyList: parameters, format: format, options: options)
        }
        return request
    }
}
