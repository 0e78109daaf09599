public import FoundationEssentials

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
