import Bluebonnet
public import Foundation
public import FoundationNetworking

/// Encodes parameters as a property list into the body, with `PropertyListSerialization`.
public struct PropertyListEncoding: ParameterEncoding {
    /// Says why there is no property list.
    @nonexhaustive
    public enum Error: Swift.Error, Hashable, Sendable {
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
    public let format: PropertyListSerialization.PropertyListFormat

    /// How the list is written, of which there are no choices now.
    public let options: PropertyListSerialization.WriteOptions

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
    /// - Throws: What making the request throws, or `.parameterEncoding(.encoderFailed)` around why there is no property
    ///   list, such as ``Error/invalidPropertyList``.
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
