public import FoundationEssentials

/// A type that changes the bytes of a body before they are serialized.
///
/// The preprocessor runs on the same executor as the serializer. The built-in serializers do not call the preprocessor
/// for an empty body. An error of the preprocessor has the same effect as an error of the serializer.
public protocol DataPreprocessor: Sendable {
    /// Returns the bytes to serialize.
    ///
    /// - Parameter data: The body of the response.
    /// - Returns: The bytes to serialize. If you return no bytes, the serializer treats the body as empty.
    /// - Throws: Any error if the bytes cannot be changed. The serializer rethrows it.
    func preprocess(_ data: Data) throws -> Data
}

extension DataPreprocessor where Self == PassthroughPreprocessor {
    /// A preprocessor that returns the body unchanged.
    public static var passthrough: PassthroughPreprocessor { PassthroughPreprocessor() }
}

extension DataPreprocessor where Self == GoogleXSSIPreprocessor {
    /// A preprocessor that removes the prefix `)]}',` and the line feed after it from the body.
    public static var googleXSSI: GoogleXSSIPreprocessor { GoogleXSSIPreprocessor() }
}

/// A preprocessor that returns the body unchanged.
///
/// You can write `.passthrough` instead of `PassthroughPreprocessor()`.
public struct PassthroughPreprocessor: DataPreprocessor {
    /// Creates the preprocessor.
    public init() {}

    /// Returns the body unchanged.
    ///
    /// - Parameter data: The body of the response.
    /// - Returns: The same bytes.
    public func preprocess(_ data: Data) -> Data { data }
}

/// A preprocessor that removes the prefix `)]}',` and the line feed after it from the body.
///
/// Some servers add this prefix to protect JSON against cross-site script inclusion. You can write `.googleXSSI`
/// instead of `GoogleXSSIPreprocessor()`.
public struct GoogleXSSIPreprocessor: DataPreprocessor {
    private static let prefix = Data(")]}',\n".utf8)

    /// Creates the preprocessor.
    public init() {}

    /// Returns the body without the prefix.
    ///
    /// - Parameter data: The body of the response.
    /// - Returns: The bytes after the prefix, or all bytes if the body does not start with the prefix.
    public func preprocess(_ data: Data) -> Data {
        data.starts(with: Self.prefix) ? Data(data.dropFirst(Self.prefix.count)) : data
    }
}
