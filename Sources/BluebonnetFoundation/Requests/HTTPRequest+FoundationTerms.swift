public import Bluebonnet
public import Foundation

/// What adapters and request modifiers that were written for `URLRequest` call the parts of a request.
extension HTTPRequest {
    /// The longest time to connect and to be idle, in seconds; 60 where the request leaves that to the session.
    ///
    /// Setting it replaces all limits of the session for this request; see `HTTPRequest.init(_:)`.
    public var timeoutInterval: TimeInterval {
        get { timeouts.map { TimeInterval($0) } ?? .defaultTimeout }
        set { timeouts = TimeInterval.timeouts(newValue) }
    }

    /// The method as it is sent; `nil` sets GET.
    public var httpMethod: String? {
        get { method.rawValue }
        set { method = newValue.map { HTTPMethod(rawValue: $0) } ?? .get }
    }

    /// The body, if it is in memory.
    public var httpBody: Data? {
        get { body?.data }
        set { body = newValue.map { .data($0) } }
    }

    /// Whether cookies are sent and kept; the request's `handlesCookies`.
    public var httpShouldHandleCookies: Bool {
        get { handlesCookies }
        set { handlesCookies = newValue }
    }

    /// The fields by name, the values of repeated ones joined; setting them replaces all.
    public var allHTTPHeaderFields: [String: String]? {
        get { headers.dictionary }
        set { headers = HTTPHeaders(newValue ?? [:]) }
    }

    /// Returns the value of a field, those of repeated ones joined.
    ///
    /// - Parameter field: The field's name, in any case.
    /// - Returns: The value, or `nil` when there is no such field.
    public func value(forHTTPHeaderField field: String) -> String? { headers[field] }

    /// Replaces a field.
    ///
    /// - Parameters:
    ///   - value: The value; `nil` removes the field.
    ///   - field: The field's name, in any case.
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) { headers[field] = value }

    /// Appends a field; those of the same name stay.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - field: The field's name.
    public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {
        headers.add(name: field, value: value)
    }
}
