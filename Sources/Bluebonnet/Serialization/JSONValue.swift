public import FoundationEssentials

/// A JSON value of any type, for JSON without a fixed structure.
///
/// ```swift
/// let json = try await session.request(url).serializingJSON().value
/// let name = json["user"]?["names"]?[0]?.string
/// ```
///
/// The text of a number determines the enum case:
/// - A number without a fraction or an exponent is an ``integer(_:)`` with an `Int64`, except `-0`, which is a
///   ``double(_:)``.
/// - A number with a fraction or an exponent is a ``double(_:)``. The parser rounds the number to the nearest `Double`.
/// - A number beyond the range of its type, `Int64` or `Double`, is a ``number(_:)``, which keeps all digits.
///
/// Two values are equal if they have the same case and the same content, so `1` and `1.0` are not equal.
public enum JSONValue: Hashable, Sendable {
    /// The value `null`.
    case null
    /// The value `true` or `false`.
    case bool(Bool)
    /// A number without a fraction or an exponent.
    case integer(Int64)
    /// A number with a fraction or an exponent, and also `-0`.
    case double(Double)
    /// A number beyond the range of its type: `Int64` for an integer, or `Double` for any other number.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    ///
    /// If the JSON text contains a name several times, the object contains the last value.
    case object([String: JSONValue])

    /// The maximum nesting depth of arrays and objects in parsed JSON text.
    package static let maximumDepth = 512
}

extension JSONValue {
    /// Creates a value from JSON text in UTF-8 (RFC 8259).
    ///
    /// The parser accepts only text that conforms to RFC 8259, but skips a byte order mark at the start. Arrays and
    /// objects can be nested up to 512 levels deep. The parser runs synchronously on the calling thread, and its run
    /// time is proportional to the length of the text.
    ///
    /// - Parameter data: The JSON text in UTF-8.
    /// - Throws: ``JSONParsingError`` with the position of the first error.
    public init(parsing data: Data) throws(JSONParsingError) {
        var parser = JSONParser()
        self = try parser.parse(data.span)
    }

    /// Creates a value from JSON text (RFC 8259).
    ///
    /// The parser accepts only text that conforms to RFC 8259, but skips a byte order mark at the start.
    ///
    /// - Parameter text: The JSON text.
    /// - Throws: ``JSONParsingError`` with the position of the first error.
    public init(parsing text: String) throws(JSONParsingError) {
        self = try JSONValue(parsing: Data(text.utf8))
    }

    /// Returns the value as JSON text in UTF-8, with object members sorted by name.
    ///
    /// Infinity and NaN, which JSON cannot represent, become `null`.
    ///
    /// - Parameter prettyPrinted: Whether the text has line breaks and indentation; `false` by default.
    /// - Returns: The JSON text in UTF-8.
    package func encode(prettyPrinted: Bool = false) -> Data {
        var writer = JSONWriter(isPretty: prettyPrinted)
        writer.write(self)
        return Data(writer.bytes)
    }
}

extension JSONValue: Described {
    /// The value as JSON text on one line, with object members sorted by name.
    package var text: String { String(decoding: encode(), as: UTF8.self) }

    /// The value as JSON text on indented lines, with object members sorted by name.
    public var prettyDescription: String { String(decoding: encode(prettyPrinted: true), as: UTF8.self) }
}

extension JSONValue {
    /// The member with this name, or `nil` if the value is not an object or has no such member.
    ///
    /// - Parameter name: The name of the member.
    public subscript(name: String) -> JSONValue? { object?[name] }

    /// The element at this index, or `nil` if the value is not an array or has no such element.
    ///
    /// - Parameter index: The zero-based index.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// Whether the value is `null`.
    package var isNull: Bool { self == .null }

    /// The Boolean, or `nil` if the value is not a Boolean.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The number as an `Int`, or `nil` if the value is not a number or `Int` cannot represent it exactly.
    public var int: Int? { exact(Int.self) }

    /// The number as a `UInt64`, or `nil` if the value is not a number or `UInt64` cannot represent it exactly.
    public var uint64: UInt64? { exact(UInt64.self) }

    /// The number as the nearest `Double`, or `nil` if the value is not a number or is beyond the range of `Double`.
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

    /// The number as a `Decimal`, or `nil` if the value is not a number or is beyond the range of `Decimal`.
    ///
    /// The result has at most 38 digits.
    public var decimal: Decimal? {
        switch self {
        case .integer(let value): Decimal(value)
        case .double(let value): value.isFinite ? Decimal(string: "\(value)") : nil
        case .number(let number): Decimal(string: number.text)
        default: nil
        }
    }

    /// The string, or `nil` if the value is not a string.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The elements of the array, or `nil` if the value is not an array.
    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

    /// The members of the object, or `nil` if the value is not an object.
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
    /// Creates the value `null`.
    ///
    /// - Parameter nilLiteral: The `nil` literal.
    public init(nilLiteral: ()) {
        self = .null
    }

    /// Creates the value `true` or `false`.
    ///
    /// - Parameter value: The Boolean value.
    public init(booleanLiteral value: Bool) {
        self = .bool(value)
    }

    /// Creates an integer.
    ///
    /// - Parameter value: The value of the integer.
    public init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    /// Creates a floating-point number.
    ///
    /// - Parameter value: The value of the number.
    public init(floatLiteral value: Double) {
        self = .double(value)
    }

    /// Creates a string.
    ///
    /// - Parameter value: The content of the string.
    public init(stringLiteral value: String) {
        self = .string(value)
    }

    /// Creates an array.
    ///
    /// - Parameter elements: The elements of the array.
    public init(arrayLiteral elements: JSONValue...) {
        self = .array(elements)
    }

    /// Creates an object.
    ///
    /// If a name occurs several times, the object contains the last value.
    ///
    /// - Parameter elements: The names and values of the members.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}

extension JSONValue: Codable {
    /// Decodes a value with any decoder.
    ///
    /// In a `Decodable` type, use a ``JSONValue`` property for a member without a fixed structure. A decoder preserves
    /// numbers less exactly than ``init(parsing:)-(Data)``. For example, `1.0` becomes an integer, and a large number
    /// is rounded to 38 digits.
    ///
    /// - Parameter decoder: The decoder to read from.
    /// - Throws: The error of the decoder.
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

    /// Encodes the value with any encoder.
    ///
    /// - Parameter encoder: The encoder to write to.
    /// - Throws: The error of the encoder. Most encoders reject infinity and NaN.
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

/// A JSON number that keeps all of its digits.
///
/// ``JSONValue`` uses this type for integers beyond the range of `Int64`. It also uses this type for numbers with a
/// fraction or an exponent, if they are beyond the range of `Double`.
public struct JSONNumber: Hashable, Sendable, Described {
    /// The number as JSON text (RFC 8259 §6).
    public let text: String

    /// Creates a number from its JSON text.
    ///
    /// - Parameter text: The number as JSON text. If it is not a valid JSON number (RFC 8259 §6), the result is `nil`.
    public init?(_ text: String) {
        var parser = JSONParser()
        let bytes = text.utf8.span
        guard (try? parser.parseNumber(bytes)) != nil, parser.index == bytes.count else { return nil }
        self.text = text
    }

    /// Creates a number from valid JSON text, without a check.
    init(checked text: String) {
        self.text = text
    }
}

/// Writes JSON text.
private struct JSONWriter {
    /// The UTF-8 text written so far.
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
