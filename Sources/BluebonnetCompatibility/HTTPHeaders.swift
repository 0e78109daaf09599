public import BluebonnetCallbacks
import Foundation
public import FoundationNetworking

/// Header fields with at most one field of each name, as in Alamofire.
///
/// Adding a field replaces an existing field with the same name. The comparison of names ignores case. In contrast,
/// `Bluebonnet.HTTPHeaders` keeps repeated fields.
public struct HTTPHeaders: Equatable, Hashable, Sendable {
    /// The fields as `Bluebonnet.HTTPHeaders`.
    public private(set) var fields: Bluebonnet.HTTPHeaders

    /// The default fields of a session: `Accept-Encoding`, `Accept-Language` and `User-Agent`.
    public static let `default` = HTTPHeaders(fields: Bluebonnet.HTTPHeaders.default)

    /// Creates an empty collection.
    public init() {
        fields = Bluebonnet.HTTPHeaders()
    }

    /// Creates a collection of fields; if several fields have the same name, the last field is kept.
    ///
    /// - Parameter headers: The fields.
    public init(_ headers: [HTTPHeader]) {
        self.init()
        headers.forEach { update($0) }
    }

    /// Creates a collection of fields, sorted by name.
    ///
    /// - Parameter dictionary: The names and the values.
    public init(_ dictionary: [String: String]) {
        self.init(dictionary.sorted { $0.key < $1.key }.map { HTTPHeader(name: $0.key, value: $0.value) })
    }

    /// Creates a collection from `Bluebonnet.HTTPHeaders`.
    ///
    /// - Parameter fields: The fields. Unlike the other initializers, this initializer keeps repeated fields.
    public init(fields: Bluebonnet.HTTPHeaders) {
        self.fields = fields
    }

    /// Sets a field, and removes other fields with the same name.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    public mutating func add(name: String, value: String) { fields.update(name: name, value: value) }

    /// Sets a field, and removes other fields with the same name.
    ///
    /// - Parameter header: The field.
    public mutating func add(_ header: HTTPHeader) { fields.update(header) }

    /// Sets a field, and removes other fields with the same name.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    public mutating func update(name: String, value: String) { fields.update(name: name, value: value) }

    /// Sets a field, and removes other fields with the same name.
    ///
    /// - Parameter header: The field.
    public mutating func update(_ header: HTTPHeader) { fields.update(header) }

    /// Removes the field with the given name.
    ///
    /// - Parameter name: The field's name.
    public mutating func remove(name: String) { fields.remove(name: name) }

    /// Sorts the fields by name.
    public mutating func sort() { fields.sort() }

    /// Returns the fields, sorted by name.
    public func sorted() -> HTTPHeaders { HTTPHeaders(fields: fields.sorted()) }

    /// Returns the value of a field.
    ///
    /// - Parameter name: The field's name.
    /// - Returns: The value, or `nil` if no field has this name.
    public func value(for name: String) -> String? { fields.value(for: name) }

    /// The value of the field with the given name; setting `nil` removes the field.
    public subscript(_ name: String) -> String? {
        get { fields[name] }
        set { fields[name] = newValue }
    }

    /// The names and the values.
    public var dictionary: [String: String] { fields.dictionary }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, RandomAccessCollection {
    /// Creates a collection from names and values; if a name is repeated, its last value is kept.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.map { HTTPHeader(name: $0, value: $1) })
    }

    /// Creates a collection from fields; if several fields have the same name, the last field is kept.
    public init(arrayLiteral elements: HTTPHeader...) {
        self.init(elements)
    }

    /// The position of the first field.
    public var startIndex: Int { fields.startIndex }

    /// The position after the last field.
    public var endIndex: Int { fields.endIndex }

    /// The field at a position.
    public subscript(position: Int) -> HTTPHeader { fields[position] }
}

extension HTTPHeaders: CustomStringConvertible, CustomReflectable {
    /// The fields, one on each line, without secret values.
    public var description: String { fields.description }

    /// The fields, without secret values.
    public var customMirror: Mirror { fields.customMirror }
}

extension HTTPHeader {
    /// The default `Accept-Encoding` field of a session.
    public static var defaultAcceptEncoding: HTTPHeader { ofDefaults("Accept-Encoding") }

    /// The default `Accept-Language` field of a session.
    public static var defaultAcceptLanguage: HTTPHeader { ofDefaults("Accept-Language") }

    /// The default `User-Agent` field of a session.
    public static var defaultUserAgent: HTTPHeader { ofDefaults("User-Agent") }

    private static func ofDefaults(_ name: String) -> HTTPHeader {
        HTTPHeader(name: name, value: HTTPHeaders.default[name] ?? "")
    }
}

extension URLRequest {
    /// The header fields.
    public var headers: HTTPHeaders {
        get { HTTPHeaders(allHTTPHeaderFields ?? [:]) }
        set { allHTTPHeaderFields = newValue.dictionary }
    }

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - method: The method.
    ///   - headers: The header fields; none by default.
    /// - Throws: `AFError.invalidURL`.
    public init(url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders? = nil) throws {
        do { self.init(url: try url.asURL()) } catch { throw error.asAFError ?? error }
        self.method = method
        if let headers { self.headers = headers }
    }
}

extension HTTPURLResponse {
    /// The header fields.
    public var headers: HTTPHeaders { HTTPHeaders(allHeaderFields as? [String: String] ?? [:]) }
}

extension URLSessionConfiguration {
    /// The header fields that a session adds to its requests.
    public var headers: HTTPHeaders {
        get { HTTPHeaders(httpAdditionalHeaders as? [String: String] ?? [:]) }
        set { httpAdditionalHeaders = newValue.dictionary }
    }
}
