/// A public type that describes itself by `text`.
///
/// The conformance to `CustomStringConvertible` is what users see. Its witness is here, so that no type repeats it.
package protocol Described: CustomStringConvertible {
    /// The description, without secrets.
    var text: String { get }
}

extension Described {
    /// The value in one line, without secrets.
    public var description: String { text }
}

/// A public type that holds secrets, none of which its description, its debug description or its mirror shows.
package protocol SecretKeeping: Described, CustomDebugStringConvertible, CustomReflectable {
    /// The parts that a mirror shows, without secrets.
    var shownParts: KeyValuePairs<String, Any> { get }
}

extension SecretKeeping {
    /// None: the text says all that may be shown.
    package var shownParts: KeyValuePairs<String, Any> { [:] }

    /// The value in one line, without secrets.
    public var debugDescription: String { text }

    /// A mirror without secrets.
    public var customMirror: Mirror { Mirror(self, children: shownParts, displayStyle: .struct) }
}
