public import FoundationEssentials

/// Tells where a downloaded file is.
public struct URLResponseSerializer: SynchronousResponseSerializer {
    /// Creates a serializer.
    public init() {}

    /// Returns the URL of the file.
    ///
    /// - Parameter input: The exchange.
    /// - Returns: The URL.
    /// - Throws: `.serialization(.inputDataNilOrZeroLength)` when the response was not downloaded to a file.
    public func serialize(_ input: SerializerInput) throws -> URL {
        guard let url = input.fileURL else { throw RequestError(.serialization(.inputDataNilOrZeroLength)) }
        return url
    }
}

extension ResponseSerializer where Self == URLResponseSerializer {
    /// Tells where a downloaded file is.
    public static var url: URLResponseSerializer { URLResponseSerializer() }
}
