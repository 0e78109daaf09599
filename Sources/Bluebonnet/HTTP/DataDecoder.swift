public import FoundationEssentials

/// A type that decodes values from the bytes of a body.
public protocol DataDecoder: Sendable {
    /// Decodes a value.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - data: The bytes to decode.
    /// - Returns: The decoded value.
    /// - Throws: An error if the bytes cannot be decoded to the type.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension JSONDecoder: DataDecoder {}

extension PropertyListDecoder: DataDecoder {}
