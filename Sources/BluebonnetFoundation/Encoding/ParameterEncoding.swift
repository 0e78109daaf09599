public import Bluebonnet
public import Foundation
public import FoundationNetworking

/// The parameters of a request by name, without a type of their own.
///
/// Values may be text, numbers, `Bool`, arrays and dictionaries of such, and any other `Encodable` value that the
/// encoding can write. In Swift 6 mode, a nested literal of values of several types must state that they are sendable:
/// `["a", 1] as [any Sendable]`. Methods that take parameters take a `[String: Any]`, too.
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

/// Encodes parameters as URL-encoded pairs into the query or the body, as `URLEncodedFormParameterEncoder` does.
///
/// Keys are sorted; arrays and dictionaries become `key[]=…` and `key[name]=…`. `nil` and `NSNull` are left out. A value
/// of a type that is not `Encodable` is sent as its description.
public struct URLEncoding: ParameterEncoding {
    /// Encodes into the query of GET, HEAD and DELETE, and into the body of others.
    public static var `default`: URLEncoding { URLEncoding() }

    /// Encodes into the query.
    public static var queryString: URLEncoding { URLEncoding(destination: .queryString) }

    /// Encodes into the body.
    public static var httpBody: URLEncoding { URLEncoding(destination: .httpBody) }

    /// Where the pairs go.
    package let destination: URLEncodedFormParameterEncoder.Destination

    /// How the elements of an array are named.
    package let arrayEncoding: URLEncodedFormEncoder.ArrayEncoding

    /// How a `Bool` is written.
    package let boolEncoding: URLEncodedFormEncoder.BoolEncoding

    /// Creates an encoding.
    ///
    /// - Parameters:
    ///   - destination: Where the pairs go; by the method by default.
    ///   - arrayEncoding: How the elements of an array are named; `key[]` by default.
    ///   - boolEncoding: How a `Bool` is written; `1` and `0` by default.
    public init(
        destination: URLEncodedFormParameterEncoder.Destination = .methodDependent,
        arrayEncoding: URLEncodedFormEncoder.ArrayEncoding = .brackets,
        boolEncoding: URLEncodedFormEncoder.BoolEncoding = .numeric
    ) {
        self.destination = destination
        self.arrayEncoding = arrayEncoding
        self.boolEncoding = boolEncoding
    }

    /// Returns a request with the parameters in its query, after what that has, or as its body.
    ///
    /// With a body goes `Content-Type: application/x-www-form-urlencoded; charset=utf-8`, unless the request has one.
    ///
    /// - Parameters:
    ///   - urlRequest: The request without them.
    ///   - parameters: What to encode; `nil` leaves the request as it is.
    /// - Returns: The request with them.
    /// - Throws: What making the request throws; `.parameterEncoding(.encoderFailed)` around what a value throws; or
    ///   `.invalidURL` when the request has no URL.
    public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
        let request = try urlRequest.asURLRequest()
        guard let parameters else { return request }
        let encoder = URLEncodedFormParameterEncoder(encoder: encoder, destination: destination)
        return try encoder.encode(EncodableParameters(parameters: parameters), into: request)
    }

    /// Returns the escaped pairs that a parameter becomes.
    ///
    /// - Parameters:
    ///   - key: The parameter's name.
    ///   - value: Its value.
    /// - Returns: The pairs, none of a value that cannot be encoded.
    public func queryComponents(fromKey key: String, value: Any) -> [(String, String)] {
        let pairs: String? = try? encoder.encode(ParameterValue.members([key: value]))
        return (pairs ?? "").split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), String(parts.count > 1 ? parts[1] : ""))
        }
    }

    /// Returns a text as it stands in a query: all but letters, digits and `-._~/?` is percent-encoded.
    ///
    /// - Parameter string: The text.
    /// - Returns: The text, escaped.
    public func escape(_ string: String) -> String {
        queryComponents(fromKey: "", value: string).first?.1 ?? ""
    }

    private var encoder: URLEncodedFormEncoder {
        URLEncodedFormEncoder(arrayEncoding: arrayEncoding, boolEncoding: boolEncoding)
    }
}

/// Parameters as something that Bluebonnet's encoders encode.
private struct EncodableParameters: Encodable, Sendable {
    let parameters: Parameters

    func encode(to encoder: any Encoder) throws { try ParameterValue.members(parameters).encode(to: encoder) }
}

extension ParameterEncoding where Self == URLEncoding {
    /// Encodes parameters as URL-encoded pairs, into the query of GET, HEAD and DELETE, and into the body of others.
    package static var urlEncoding: URLEncoding { .default }
}

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
    package let options: JSONSerialization.WritingOptions

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
    package static var jsonEncoding: JSONEncoding { .default }
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

/// Encodes parameters as a property list into the body, with `PropertyListSerialization`.
public struct PropertyListEncoding: ParameterEncoding {
    /// Says why there is no property list.
    package enum Error: Swift.Error, Hashable, Sendable {
        /// A value is none that property lists have, such as `NSNull`.
        case invalidPropertyList
    }

    /// Encodes as XML.
    public static var `default`: PropertyListEncoding { PropertyListEncoding() }

    /// Encodes as XML.
    public static var xml: PropertyListEncoding { PropertyListEncoding(format: .xml) }

    /// Encodes in the binary form.
    public static var binary: PropertyListEncoding { PropertyListEncoding(format: .binary) }

    /// The form of the list.
    package let format: PropertyListSerialization.PropertyListFormat

    /// How the list is written, of which there are no choices now.
    package let options: PropertyListSerialization.WriteOptions

    /// Creates an encoding.
    ///
    /// - Parameters:
    ///   - format: The form of the list; XML by default.
    ///   - options: How the list is written.
    public init(
        format: PropertyListSerialization.PropertyListFormat = .xml,
        options: PropertyListSerialization.WriteOptions = 0
    ) {
        self.format = format
        self.options = options
    }

    /// Returns a request with the parameters as its body, and `Content-Type: application/x-plist` unless it has one.
    ///
    /// - Parameters:
    ///   - urlRequest: The request without them.
    ///   - parameters: What to encode; `nil` leaves the request as it is.
    /// - Returns: The request with them.
    /// - Throws: What making the request throws, or `.parameterEncoding(.encoderFailed)` around the reason why
    ///   there is no property list.
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
