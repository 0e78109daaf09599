public import FoundationEssentials

/// Returns the body as bytes; also written `.data`.
public struct DataResponseSerializer: SynchronousResponseSerializer {
    /// What the body goes through first.
    public let dataPreprocessor: any DataPreprocessor

    /// The methods whose responses may have an empty body.
    public let emptyRequestMethods: Set<HTTPMethod>

    /// The status codes whose responses may have an empty body.
    public let emptyResponseCodes: Set<Int>

    /// Creates the serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: What the body goes through first.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body.
    public init(
        dataPreprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.emptyRequestMethods = emptyRequestMethods
        self.emptyResponseCodes = emptyResponseCodes
    }

    /// Returns the body, preprocessed.
    ///
    /// - Parameter input: The exchange.
    /// - Returns: The bytes; none when the body is empty and may be.
    /// - Throws: ``RequestError`` when the body is empty and may not be; what the preprocessor throws.
    public func serialize(_ input: SerializerInput) throws -> Data {
        try preprocessedData(of: input) ?? Data()
    }
}

extension ResponseSerializer where Self == DataResponseSerializer {
    /// Returns the body as bytes.
    public static var data: DataResponseSerializer { DataResponseSerializer() }

    /// Returns the body as bytes.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: What the body goes through first.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body.
    /// - Returns: The serializer.
    public static func data(
        dataPreprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> DataResponseSerializer {
        DataResponseSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
    }
}
