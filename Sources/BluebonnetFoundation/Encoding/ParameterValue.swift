import Foundation

/// Says what a value is that a parameter has, whatever its type.
enum ParameterValue {
    case flag(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case double(Double)
    case null
    case members([String: Any])
    case elements([Any])
    case encodable(any Encodable)
    /// Its description is all that is known.
    case text(String)

    /// Looks at the type before it casts: on Linux, Swift's numbers can be cast to `NSNumber`, and that to `Bool`.
    init(_ value: Any) {
        if type(of: value) is NSNumber.Type, let number = value as? NSNumber {
            self.init(number)
        } else if value is NSNull {
            self = .null
        } else if let members = value as? [String: Any] {
            self = .members(members)
        } else if let elements = value as? [Any] {
            self = .elements(elements)
        } else if let flag = value as? Bool {
            self = .flag(flag)
        } else if let encodable = value as? any Encodable {
            self = .encodable(encodable)
        } else {
            self = .text("\(value)")
        }
    }

    private init(_ number: NSNumber) {
        // Safety: the name of a type is never empty, and lives as long as the process.
        switch unsafe UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "c"): self = .flag(number.boolValue)
        case UInt8(ascii: "d"), UInt8(ascii: "f"): self = .double(number.doubleValue)
        case UInt8(ascii: "Q"): self = .unsigned(number.uint64Value)
        default: self = .integer(number.int64Value)
        }
    }
}

extension ParameterValue: Encodable {
    func encode(to encoder: any Encoder) throws {
        switch self {
        case .flag(let flag): try flag.encode(to: encoder)
        case .integer(let number): try number.encode(to: encoder)
        case .unsigned(let number): try number.encode(to: encoder)
        case .double(let number): try number.encode(to: encoder)
        case .text(let text): try text.encode(to: encoder)
        case .encodable(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .members(let members):
            var container = encoder.container(keyedBy: Key.self)
            for (name, value) in members.sorted(by: { $0.key < $1.key }) {
                try container.encode(ParameterValue(value), forKey: Key(stringValue: name))
            }
        case .elements(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(ParameterValue(element)) }
        }
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }
}

/// Parameters as something that Bluebonnet's encoders encode.
struct EncodableParameters: Encodable, Sendable {
    let parameters: Parameters

    func encode(to encoder: any Encoder) throws { try ParameterValue.members(parameters).encode(to: encoder) }
}
