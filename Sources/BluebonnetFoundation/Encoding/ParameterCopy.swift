import Bluebonnet
import Foundation

/// Copies values of any type into such as are known to be sendable.
enum ParameterCopy {
    /// Says which value is none that can be copied.
    struct Refusal: Error, CustomStringConvertible {
        let key: String
        let type: String

        var description: String { "the value for \(key.debugDescription) is a \(type), which cannot be copied" }
    }

    /// Copies a dictionary; it throws `.parameterEncoding(.encoderFailed)` for what it does not know.
    static func copy(_ parameters: [String: Any]) throws(RequestError) -> Parameters {
        do {
            return try copy(members: parameters, key: nil)
        } catch {
            throw RequestError(.parameterEncoding(.encoderFailed), underlying: error)
        }
    }

    /// Copies the parameters of a request, if it has any, and keeps why not for when the request is made.
    static func result(of parameters: [String: Any]?) -> Result<Parameters?, RequestError> {
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
        default: throw Refusal(key: key, type: "\(type(of: value))")
        }
    }
}
