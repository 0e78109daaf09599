/// A key for a value that a request carries.
///
/// ```swift
/// enum Screen: RequestTag { typealias Value = String }
///
/// let request = session.request(url).tag(Screen.self, "home")
/// ```
///
/// Interceptors, event monitors and the receiver of the response can read the value in ``HTTPRequest/tags``. The value
/// is not sent.
public protocol RequestTag {
    /// The type of the value.
    associatedtype Value: Sendable
}

/// The values that a request carries, by their keys.
///
/// Values may contain secrets, so no description of a request contains them.
public struct RequestTags: Sendable {
    private var values: [ObjectIdentifier: any Sendable] = [:]

    /// Creates a collection without values.
    public init() {}

    /// Whether there are no values.
    public var isEmpty: Bool { values.isEmpty }

    /// The value for a key; `nil` if there is none.
    ///
    /// - Parameter key: The type that is the key.
    public subscript<Key: RequestTag>(key: Key.Type) -> Key.Value? {
        get { values[ObjectIdentifier(key)] as? Key.Value }
        set { values[ObjectIdentifier(key)] = newValue }
    }

    /// Sets a value; returns the earlier value.
    mutating func replace(_ identifier: ObjectIdentifier, with value: any Sendable) -> (any Sendable)? {
        values.updateValue(value, forKey: identifier)
    }

    /// Adds the values of other tags, which replace values with the same keys.
    mutating func add(_ others: RequestTags) {
        values.merge(others.values) { $1 }
    }
}

extension RequestTags: SecretKeeping {
    /// The number of values.
    package var text: String { "\(values.count) values" }
}
