/// A public type whose description is its `text`.
///
/// The public API shows the conformance to `CustomStringConvertible`. This file implements it for all types.
package protocol Described: CustomStringConvertible {
    /// The description, without secrets.
    var text: String { get }
}

extension Described {
    /// A one-line description, without secrets.
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
