/// A public type that describes itself with its `text`.
///
/// Users see the conformance to `CustomStringConvertible`. Its implementation is in this file, so that no type repeats
/// it.
package protocol Described: CustomStringConvertible {
    /// The description, without secrets.
    var text: String { get }
}

extension Described {
    /// A one-line description, without secrets.
    public var description: String { text }
}

/// A public type with secrets, which are not shown in its description, debug description or mirror.
package protocol SecretKeeping: Described, CustomDebugStringConvertible, CustomReflectable {
    /// The properties that a mirror shows, without secrets.
    var shownParts: KeyValuePairs<String, Any> { get }
}

extension SecretKeeping {
    /// No properties: `text` already contains everything that may be shown.
    package var shownParts: KeyValuePairs<String, Any> { [:] }

    /// A one-line description, without secrets.
    public var debugDescription: String { text }

    /// A mirror without secrets.
    public var customMirror: Mirror { Mirror(self, children: shownParts, displayStyle: .struct) }
}
