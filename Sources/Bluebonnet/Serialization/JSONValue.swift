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
    package func encode(prettyPrinted: Bool = false) -> Data {
        var writer = JSONWriter(isPretty: prettyPrinted)
        writer.write(self)
        return Data(writer.bytes)
    }
}

extension JSONValue: Described {
    /// The value as JSON text in one line, the members of objects sorted by name.
    package var text: String { String(decoding: encode(), as: UTF8.self) }

    /// The value as JSON text in indented lines, the members of objects sorted by name.
    public var prettyDescription: String { String(decoding: encode(prettyPrinted: true), as: UTF8.self) }
}

extension JSONValue {
    /// The member of this name, or `nil` when there is none or this is not an object.
    ///
    /// - Parameter name: The member's name.
    public subscript(name: String) -> JSONValue? { object?[name] }

    /// The element at this index, or `nil` when there is none or this is not an array.
    ///
    /// - Parameter index: The index, from 0.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// Whether this is `null`.
    package var isNull: Bool { self == .null }

    /// The truth value, or `nil` when this is not one.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The number as `Int`, or `nil` when this is not a number that `Int` holds exactly.
    public var int: Int? { exact(Int.self) }

    /// The number as `UInt64`, or `nil` when this is not a number that `UInt64` holds exactly.
    public var uint64: UInt64? { exact(UInt64.self) }

    /// The number as the nearest `Double`, or `nil` when this is not a number or beyond the range of `Double`.
    public var double: Double? {
        switch self {
        case .integer(let value): return Double(value)
        case .double(let value): return value
        case .number(let number):
            guard let value = Double(number.text), value.isFinite else { return nil }
            return value
        default: return nil
        }
    }

    /// The number as `Decimal`, with up to 38 digits, or `nil` when this is not a number.
    public var decimal: Decimal? {
        switch self {
        case .integer(let value): Decimal(value)
        case .double(let value): value.isFinite ? Decimal(string: "\(value)") : nil
        case .number(let number): Decimal(string: number.text)
        default: nil
        }
    }

    /// The string, or `nil` when this is not one.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The elements, or `nil` when this is not an array.
    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

    /// The members, or `nil` when this is not an object.
    public var object: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }

    private func exact<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
        switch self {
        case .integer(let value): Integer(exactly: value)
        case .double(let value): Integer(exactly: value)
        case .number(let number): Integer(number.text)
        default: nil
        }
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Creates `null`.
    ///
    /// - Parameter nilLiteral: Nothing.
    public init(nilLiteral: ()) {
        self = .null
    }

    /// Creates `true` or `false`.
    ///
    /// - Parameter value: The truth value.
    public init(booleanLiteral value: Bool) {
        self = .bool(value)
    }

    /// Creates an integer.
    ///
    /// - Parameter value: The integer.
    public init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    /// Creates a number with a fraction.
    ///
    /// - Parameter value: The number.
    public init(floatLiteral value: Double) {
        self = .double(value)
    }

    /// Creates a string.
    ///
    /// - Parameter value: The string.
    public init(stringLiteral value: String) {
        self = .string(value)
    }

    /// Creates an array.
    ///
    /// - Parameter elements: The elements.
    public init(arrayLiteral elements: JSONValue...) {
        self = .array(elements)
    }

    /// Creates an object; where a name is repeated, the last one counts.
    ///
    /// - Parameter elements: The members.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}

extension JSONValue: Codable {
    /// Decodes a value of any decoder, for a member of no fixed shape in a `Decodable` type.
    ///
    /// Decoders tell less about a number than ``init(parsing:)-(Data)`` finds out: `1.0` is an integer here, and more
    /// than 38 digits are rounded.
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: The decoder's error.
    public init(from decoder: any Decoder) throws {
        if var elements = try? decoder.unkeyedContainer() {
            var array: [JSONValue] = []
            while !elements.isAtEnd { array.append(try elements.decode(JSONValue.self)) }
            self = .array(array)
            return
        }
        if let members = try? decoder.container(keyedBy: CodingName.self) {
            var object: [String: JSONValue] = [:]
            for name in members.allKeys { object[name.stringValue] = try members.decode(JSONValue.self, forKey: name) }
            self = .object(object)
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else {
            self = try Self.number(in: container)
        }
    }

    private static func number(in container: any SingleValueDecodingContainer) throws -> JSONValue {
        if let value = try? container.decode(UInt64.self) { return .number(JSONNumber(checked: "\(value)")) }
        let double = try? container.decode(Double.self)
        if let double, abs(double) < 9_007_199_254_740_992 { return .double(double) }
        if let decimal = try? container.decode(Decimal.self), let number = JSONNumber("\(decimal)") {
            return .number(number)
        }
        return .double(try double ?? container.decode(Double.self))
    }

    /// Encodes the value into any encoder.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The encoder's error; most encoders reject doubles that are not finite.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .object(let members):
            var container = encoder.container(keyedBy: CodingName.self)
            for (name, value) in members { try container.encode(value, forKey: CodingName(stringValue: name)) }
        default:
            var container = encoder.singleValueContainer()
            try encodeScalar(into: &container)
        }
    }

    private func encodeScalar(into container: inout any SingleValueEncodingContainer) throws {
        switch self {
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .number(let number):
            if let value = UInt64(number.text) {
                try container.encode(value)
            } else if let value = Decimal(string: number.text) {
                try container.encode(value)
            } else {
                try container.encode(Double(number.text) ?? .infinity)
            }
        case .null, .array, .object: try container.encodeNil()
        }
    }
}

/// A number of a JSON text, kept as it is written there.
///
/// ``JSONValue`` holds one for what neither `Int64` nor `Double` can: an integer beyond `Int64`, a magnitude beyond
/// `Double`. No digit is lost.
public struct JSONNumber: Hashable, Sendable, Described {
    /// The number as JSON writes it (RFC 8259 §6).
    public let text: String

    /// Creates a number of its JSON text.
    ///
    /// - Parameter text: The number; `nil` results unless it has the form that RFC 8259 §6 prescribes.
    public init?(_ text: String) {
        var parser = JSONParser()
        let bytes = text.utf8.span
        guard (try? parser.parseNumber(bytes)) != nil, parser.index == bytes.count else { return nil }
        self.text = text
    }

    /// Creates a number of a text that is known to be one.
    init(checked text: String) {
        self.text = text
    }
}

/// Writes JSON text.
private struct JSONWriter {
    /// The text so far, in UTF-8.
    private(set) var bytes: [UInt8] = []

    private let isPretty: Bool
    private var depth = 0

    init(isPretty: Bool) {
        self.isPretty = isPretty
    }

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: write("null")
        case .bool(let value): write(value ? "true" : "false")
        case .integer(let value): write("\(value)")
        case .double(let value): write(value.isFinite ? "\(value)" : "null")
        case .number(let number): write(number.text)
        case .string(let text): writeString(text)
        case .array(let elements): write(elements, between: ("[", "]")) { $0.write($1) }
        case .object(let members):
            write(members.sorted { $0.key < $1.key }, between: ("{", "}")) { writer, member in
                writer.writeString(member.key)
                writer.write(writer.isPretty ? ": " : ":")
                writer.write(member.value)
            }
        }
    }

    private mutating func write(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    /// Writes elements or members between brackets.
    private mutating func write<Element>(
        _ elements: [Element], between brackets: (String, String), each: (inout JSONWriter, Element) -> Void
    ) {
        write(brackets.0)
        depth += 1
        for (index, element) in elements.enumerated() {
            if index > 0 { write(",") }
            breakLine()
            each(&self, element)
        }
        depth -= 1
        if !elements.isEmpty { breakLine() }
        write(brackets.1)
    }

    private mutating func breakLine() {
        guard isPretty else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: depth * 2))
    }

    private mutating func writeString(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): write("\\\"")
            case UInt8(ascii: "\\"): write("\\\\")
            case UInt8(ascii: "\n"): write("\\n")
            case UInt8(ascii: "\r"): write("\\r")
            case UInt8(ascii: "\t"): write("\\t")
            case 0..<0x20, 0x7F:
                let digits = String(byte, radix: 16)
                write("\\u00" + (digits.utf8.count == 1 ? "0" : "") + digits)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
