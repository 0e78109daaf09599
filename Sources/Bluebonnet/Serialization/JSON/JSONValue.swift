public import FoundationEssentials

/// Any value of a JSON text, for JSON of no fixed shape.
///
/// ```swift
/// let json = try await session.request(url).serializingJSON().value
/// let name = json["user"]?["names"]?[0]?.string
/// ```
///
/// Numbers keep what was sent: one without fraction and exponent is an ``integer(_:)``, one with either a ``double(_:)``
/// (the nearest value, as everywhere), and one beyond the range of its type a ``number(_:)`` with its digits. Two
/// values are equal when they have the same case and content, so `1` and `1.0` are not.
public enum JSONValue: Hashable, Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without fraction and exponent.
    case integer(Int64)
    /// A number with a fraction or an exponent; also `-0`.
    case double(Double)
    /// A number beyond the range of `Int64` or `Double`.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object. Where the text repeats a name, the last one counts.
    case object([String: JSONValue])

    /// How deep arrays and objects may be nested in a text that is parsed.
    package static let maximumDepth = 512
}

extension JSONValue {
    /// Parses a JSON text (RFC 8259), strictly.
    ///
    /// The text is UTF-8; a byte order mark is skipped. Arrays and objects may be nested 512 deep. Runs where it is
    /// called, in time proportional to the length of the text.
    ///
    /// - Parameter data: The text.
    /// - Throws: ``JSONParsingError`` with the place where the text is not JSON.
    public init(parsing data: Data) throws(JSONParsingError) {
        var parser = JSONParser()
        self = try parser.parse(data.span)
    }

    /// Parses a JSON text (RFC 8259), strictly.
    ///
    /// - Parameter text: The text.
    /// - Throws: ``JSONParsingError`` with the place where the text is not JSON.
    public init(parsing text: String) throws(JSONParsingError) {
        self = try JSONValue(parsing: Data(text.utf8))
    }

    /// Returns the value as JSON text in UTF-8, the members of objects sorted by name.
    ///
    /// Doubles that are not finite have no form in JSON and become `null`, as in JavaScript.
    ///
    /// - Parameter prettyPrinted: Whether the text is broken into indented lines.
    /// - Returns: The text.
    public func encode(prettyPrinted: Bool = false) -> Data {
        var writer = JSONWriter(isPretty: prettyPrinted)
        writer.write(self)
        return Data(writer.bytes)
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as JSON text in one line, the members of objects sorted by name.
    public var description: String { String(decoding: encode(), as: UTF8.self) }

    /// The value as JSON text in indented lines, the members of objects sorted by name.
    public var prettyDescription: String { String(decoding: encode(prettyPrinted: true), as: UTF8.self) }
}
