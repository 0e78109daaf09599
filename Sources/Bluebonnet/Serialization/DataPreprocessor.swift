public import FoundationEssentials

/// Changes the bytes of a body before they are serialized.
///
/// Runs where the serializer runs, and only on bodies that are not empty. What it throws ends the attempt like an error
/// of the serializer.
public protocol DataPreprocessor: Sendable {
    /// Returns the bytes to serialize.
    ///
    /// - Parameter data: The body.
    /// - Returns: The bytes to serialize; none counts as an empty body.
    /// - Throws: Any error; it ends the attempt.
    func preprocess(_ data: Data) throws -> Data
}

extension DataPreprocessor where Self == PassthroughPreprocessor {
    /// Leaves the body as it is.
    public static var passthrough: PassthroughPreprocessor { PassthroughPreprocessor() }
}

extension DataPreprocessor where Self == GoogleXSSIPreprocessor {
    /// Removes the prefix `)]}',` with which some servers keep scripts from reading their JSON.
    public static var googleXSSI: GoogleXSSIPreprocessor { GoogleXSSIPreprocessor() }
}

/// Leaves the body as it is; also written `.passthrough`.
public struct PassthroughPreprocessor: DataPreprocessor {
    /// Creates the preprocessor.
    public init() {}

    /// Returns the body.
    ///
    /// - Parameter data: The body.
    /// - Returns: The same bytes.
    public func preprocess(_ data: Data) -> Data { data }
}

/// Removes the prefix `)]}',` and a line feed from the body, if it is there; also written `.googleXSSI`.
public struct GoogleXSSIPreprocessor: DataPreprocessor {
    private static let prefix = Data(")]}',\n".utf8)

    /// Creates the preprocessor.
    public init() {}

    /// Returns the body without the prefix.
    ///
    /// - Parameter data: The body.
    /// - Returns: The bytes after the prefix, or the same bytes when there is none.
    public func preprocess(_ data: Data) -> Data {
        data.starts(with: Self.prefix) ? Data(data.dropFirst(Self.prefix.count)) : data
    }
}

/// Decodes values from the bytes of a body.
public protocol DataDecoder: Sendable {
    /// Decodes a value.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - data: The bytes.
    /// - Returns: The value.
    /// - Throws: Why the bytes are not such a value.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension JSONDecoder: DataDecoder {}

extension PropertyListDecoder: DataDecoder {}
