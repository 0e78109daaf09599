public import Bluebonnet
import Foundation
public import FoundationNetworking

/// Encodes parameters as URL-encoded pairs into the query or the body, as `URLEncodedFormParameterEncoder` does.
///
/// Keys are sorted; arrays and dictionaries become `key[]=…` and `key[name]=…`. `nil` and `NSNull` are left out. A value
/// of a type that is not `Encodable` is sent as its description.
public struct URLEncoding: ParameterEncoding {
    /// Says where the pairs go.
    public typealias Destination = URLEncodedFormParameterEncoder.Destination

    /// Says how the elements of an array are named.
    public typealias ArrayEncoding = URLEncodedFormEncoder.ArrayEncoding

    /// Says how a `Bool` is written.
    public typealias BoolEncoding = URLEncodedFormEncoder.BoolEncoding

    /// Encodes into the query of GET, HEAD and DELETE, and into the body of others.
    public static var `default`: URLEncoding { URLEncoding() }

    /// Encodes into the query.
    public static var queryString: URLEncoding { URLEncoding(destination: .queryString) }

    /// Encodes into the body.
    public static var httpBody: URLEncoding { URLEncoding(destination: .httpBody) }

    /// Where the pairs go.
    public let destination: Destination

    /// How the elements of an array are named.
    public let arrayEncoding: ArrayEncoding

    /// How a `Bool` is written.
    public let boolEncoding: BoolEncoding

    /// Creates an encoding.
    ///
    /// - Parameters:
    ///   - destination: Where the pairs go; by the method by default.
    ///   - arrayEncoding: How the elements of an array are named; `key[]` by default.
    ///   - boolEncoding: How a `Bool` is written; `1` and `0` by default.
    public init(
        destination: Destination = .methodDependent, arrayEncoding: ArrayEncoding = .brackets,
        boolEncoding: BoolEncoding = .numeric
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

extension ParameterEncoding where Self == URLEncoding {
    /// Encodes parameters as URL-encoded pairs, into the query of GET, HEAD and DELETE, and into the body of others.
    public static var urlEncoding: URLEncoding { .default }
}
