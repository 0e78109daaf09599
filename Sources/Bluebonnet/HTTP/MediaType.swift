/// A media type such as `text/html`, or a media range such as `image/*` (RFC 9110 §8.3.1, §12.5.1).
public struct MediaType: Sendable {
    /// The text before the slash, in lower case; `*` is possible in a media range.
    public let type: String

    /// The text after the slash, in lower case; `*` is possible in a media range.
    public let subtype: String

    private let text: String

    /// Parses a media type such as `text/html; charset=utf-8`.
    ///
    /// The initializer returns `nil` if the text does not begin with two tokens separated by a slash.
    ///
    /// - Parameter text: The value of a `Content-Type` field, or an element of an `Accept` field. Invalid parameters
    ///   are ignored.
    public init?(_ text: String) {
        guard let range = MediaRange(text[...]) else { return nil }
        type = range.type.lowercased()
        subtype = range.subtype.lowercased()
        self.text = text
    }

    /// The type and the subtype separated by a slash, without parameters.
    public var essence: String { "\(type)/\(subtype)" }

    /// Returns the value of a parameter, without quotes.
    ///
    /// - Parameter name: The name of the parameter, in any case.
    /// - Returns: The value of the first parameter of this name, or `nil` if there is none.
    public func parameter(_ name: String) -> String? {
        text.utf8.contains(0x3b) ? parameters.first { $0.name.isSameIgnoringCase(as: name) }?.value : nil
    }

    /// Returns whether this media range includes another media type.
    ///
    /// Parameters are ignored. A `*` in either media type matches everything.
    ///
    /// - Parameter other: The media type to compare with.
    /// - Returns: Whether the types match and the subtypes match.
    public func matches(_ other: MediaType) -> Bool {
        Self.matches(type, other.type) && Self.matches(subtype, other.subtype)
    }

    private static func matches(_ left: String, _ right: String) -> Bool {
        left == right || left == "*" || right == "*"
    }

    private var parameters: [(name: String, value: String)] { Self.parameters(of: text) }

    /// Returns the parameters after the first semicolon, with names in lower case and values without quotes.
    static func parameters(of text: String) -> [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = []
        var rest = text.utf8[...]
        while let semicolon = rest.firstIndex(of: 0x3b) {
            rest = rest[rest.index(after: semicolon)...]
            rest.skipWhitespace()
            let name = rest.takeToken()
            guard !name.isEmpty, let value = rest.takeParameterValue(until: [0x3b, 0x2c]) else { continue }
            parameters.append((name, value))
        }
        return parameters
    }
}

extension MediaType: Hashable {
    /// Returns whether two media types have the same type, subtype and parameters.
    public static func == (left: MediaType, right: MediaType) -> Bool {
        left.type == right.type && left.subtype == right.subtype
            && left.parameters.elementsEqual(right.parameters) { $0 == $1 }
    }

    /// Hashes the type and the subtype.
    ///
    /// - Parameter hasher: The hasher to use.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(subtype)
    }
}

/// A media type or media range, as slices of a field value.
struct MediaRange {
    let type: Substring
    let subtype: Substring

    /// Parses the text before the parameters.
    ///
    /// If `orAsterisk` is `true`, a bare `*` is accepted, because Java's clients send `*; q=.2`.
    init?(_ text: Substring, orAsterisk: Bool = false) {
        let bytes = text.utf8
        let start = bytes.firstIndex { !FieldSyntax.isWhitespace($0) } ?? bytes.endIndex
        let typeEnd = bytes[start...].firstIndex { !FieldSyntax.isTokenByte($0) } ?? bytes.endIndex
        let hasSlash = typeEnd < bytes.endIndex && bytes[typeEnd] == 0x2f
        let subtypeStart = hasSlash ? bytes.index(after: typeEnd) : start
        let end = bytes[subtypeStart...].firstIndex { !FieldSyntax.isTokenByte($0) } ?? bytes.endIndex
        let next = bytes[end...].first { !FieldSyntax.isWhitespace($0) }
        guard typeEnd > start, end > subtypeStart, next == nil || next == 0x3b || next == 0x2c else { return nil }
        type = text[start..<typeEnd]
        subtype = text[subtypeStart..<end]
        guard hasSlash || orAsterisk && type == "*" else { return nil }
    }

    var isEverything: Bool { type == "*" && subtype == "*" }

    func includes(_ other: MediaRange) -> Bool {
        Self.includes(type, other.type) && Self.includes(subtype, other.subtype)
    }

    private static func includes(_ range: Substring, _ value: Substring) -> Bool {
        range == "*"
            || range.utf8.elementsEqual(value.utf8) { FieldSyntax.lowercased($0) == FieldSyntax.lowercased($1) }
    }
}
