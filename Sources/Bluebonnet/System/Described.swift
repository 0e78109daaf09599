/// A public type whose description is its `text`.
///
/// The public documentation shows only the conformance to `CustomStringConvertible`. An extension in this file
/// implements `description` for all conforming types.
package protocol Described: CustomStringConvertible {
    /// The description of the value.
    var text: String { get }
}

extension Described {
    /// A textual description of the value.
    public var description: String { text }
}

/// A public type whose description, debug description and mirror do not contain its secrets.
package protocol SecretKeeping: Described, CustomDebugStringConvertible, CustomReflectable {
    /// The properties that a mirror shows, without secrets.
    var shownParts: KeyValuePairs<String, Any> { get }
}

extension SecretKeeping {
    /// No properties, because `text` already contains all values that may be shown.
    package var shownParts: KeyValuePairs<String, Any> { [:] }

    /// A one-line description, without secrets.
    public var debugDescription: String { text }

    /// A mirror without secrets.
    public var customMirror: Mirror { Mirror(self, children: shownParts, displayStyle: .struct) }
}
