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
