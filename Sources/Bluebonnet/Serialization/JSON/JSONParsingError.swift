/// Says where a text stops being JSON, and why.
public struct JSONParsingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Names what is wrong.
    @nonexhaustive
    public enum Reason: Hashable, Sendable {
        /// The text ends before the value does.
        case unexpectedEnd
        /// A byte cannot stand where it does.
        case unexpectedByte(UInt8)
        /// Something follows the value.
        case trailingBytes
        /// A number does not have the form of RFC 8259 §6, such as `01` or `1.`.
        case malformedNumber
        /// A string holds a backslash before a character that is not escaped so, or half a surrogate pair.
        case malformedEscape
        /// A string holds a control character that is not escaped.
        case controlCharacter
        /// A string is not well-formed UTF-8.
        case malformedUTF8
        /// Arrays and objects are nested deeper than 512.
        case tooDeep
    }

    /// What is wrong.
    public let reason: Reason

    /// How many bytes of the text come before the place.
    public let offset: Int

    /// What is wrong and where, in one line; nothing of the text itself is in it.
    public var description: String {
        let text =
            switch reason {
            case .unexpectedEnd: "the JSON text ends too early"
            case .unexpectedByte: "an unexpected byte"
            case .trailingBytes: "something follows the JSON value"
            case .malformedNumber: "a malformed number"
            case .malformedEscape: "a malformed escape"
            case .controlCharacter: "a control character that is not escaped"
            case .malformedUTF8: "bytes that are not UTF-8"
            case .tooDeep: "arrays and objects nested deeper than \(JSONValue.maximumDepth)"
            }
        return "\(text), at byte \(offset)"
    }
}
