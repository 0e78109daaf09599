import Bluebonnet
import Foundation

/// A parameter value, classified by its dynamic type.
enum ParameterValue {
    case flag(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case double(Double)
    case null
    case members([String: Any])
    case elements([Any])
    case encodable(any Encodable)
    /// A value of an unknown type, reduced to its description.
    case text(String)

    /// Classifies a value.
    ///
    /// The type is checked before casting, because on Linux a Swift number can be cast to `NSNumber`, and an `NSNumber`
    /// to `Bool`.
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
        // Safety: the name of a type is never empty, and is valid for the lifetime of the process.
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

/// Copies values of any type to sendable values.
package enum ParameterCopy {
    /// The error for a value that cannot be copied.
    struct UnsupportedValue: Error, CustomStringConvertible {
        let key: String
        let type: String

        var description: String { "the value for \(key.debugDescription) is a \(type), which cannot be copied" }
    }

    /// Copies a dictionary; throws `.parameterEncoding(.encoderFailed)` if a value has an unknown type.
    static func copy(_ parameters: [String: Any]) throws(RequestError) -> Parameters {
        do {
            return try copy(members: parameters, key: nil)
        } catch {
            throw RequestError(.parameterEncoding(.encoderFailed), underlying: error)
        }
    }

    /// Copies the parameters of a request; an error is stored and thrown when the request is created.
    package static func result(of parameters: [String: Any]?) -> Result<Parameters?, RequestError> {
        Result { () throws(RequestError) in try parameters.map { (it) throws(RequestError) in try copy(it) } }
    }

    private static func copy(members: [String: Any], key: String?) throws -> Parameters {
        var copies: Parameters = [:]
        for (name, value) in members { copies[name] = try copy(value, key: key.map { "\($0)[\(name)]" } ?? name) }
        return copies
    }

    private static func copy(_ value: Any, key: String) throws -> any Sendable {
        switch ParameterValue(value) {
        case .flag(let flag): return flag
        case .integer(let number): return number
        case .unsigned(let number): return number
        case .double(let number): return number
        case .null: return NSNull()
        case .members(let members): return try copy(members: members, key: key)
        case .elements(let elements): return try elements.map { try copy($0, key: "\(key)[]") }
        case .encodable, .text: break
        }
        switch value {
        case let text as String: return text
        case let number as Int: return number
        case let number as any BinaryInteger: return Int64(clamping: number)
        case let number as Double: return number
        case let number as Float: return number
        case let number as Decimal: return number
        case let date as Date: return date
        case let data as Data: return data
        case let url as URL: return url
        case let id as UUID: return id
        default: throw UnsupportedValue(key: key, type: "\(type(of: value))")
        }
    }
}
