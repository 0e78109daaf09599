public import FoundationEssentials

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
