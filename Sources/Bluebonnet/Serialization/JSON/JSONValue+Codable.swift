import FoundationEssentials

extension JSONValue: Codable {
    /// Decodes a value of any decoder, for a member of no fixed shape in a `Decodable` type.
    ///
    /// Decoders tell less about a number than ``init(parsing:)-(Data)`` finds out: `1.0` is an integer here, and more
    /// than 38 digits are rounded.
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: What the decoder throws.
    public init(from decoder: any Decoder) throws {
        if var elements = try? decoder.unkeyedContainer() {
            var array: [JSONValue] = []
            while !elements.isAtEnd { array.append(try elements.decode(JSONValue.self)) }
            self = .array(array)
            return
        }
        if let members = try? decoder.container(keyedBy: Name.self) {
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
    /// - Throws: What the encoder throws; for doubles that are not finite, most do.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .object(let members):
            var container = encoder.container(keyedBy: Name.self)
            for (name, value) in members { try container.encode(value, forKey: Name(stringValue: name)) }
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

    /// The name of a member.
    private struct Name: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) {
            self.stringValue = stringValue
        }

        init?(intValue: Int) {
            return nil
        }
    }
}
