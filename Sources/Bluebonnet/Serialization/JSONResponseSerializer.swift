/// Returns the body as a ``JSONValue``, for JSON of no fixed shape; also written `.json`.
public struct JSONResponseSerializer: SynchronousResponseSerializer {
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
        emptyResponseCodes: Set<Int> = JSONResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = JSONResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.emptyRequestMethods = emptyRequestMethods
        self.emptyResponseCodes = emptyResponseCodes
    }

    /// Returns the body as a JSON value.
    ///
    /// - Parameter input: The exchange.
    /// - Returns: The value; ``JSONValue/null`` when the body is empty and may be.
    /// - Throws: ``RequestError`` `.serialization(.jsonSerializationFailed)` with a ``JSONParsingError`` as the
    ///   underlying error when the body is not JSON, `.serialization(.inputDataNilOrZeroLength)` when it is empty and
    ///   may not be; what the preprocessor throws.
    public func serialize(_ input: SerializerInput) throws -> JSONValue {
        guard let data = try preprocessedData(of: input) else { return .null }
        do {
            return try JSONValue(parsing: data)
        } catch {
            throw RequestError(.serialization(.jsonSerializationFailed), underlying: error)
        }
    }
}

extension ResponseSerializer where Self == JSONResponseSerializer {
    /// Returns the body as a JSON value.
    public static var json: JSONResponseSerializer { JSONResponseSerializer() }

    /// Returns the body as a JSON value.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: What the body goes through first.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body.
    /// - Returns: The serializer.
    public static func json(
        dataPreprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = JSONResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = JSONResponseSerializer.defaultEmptyRequestMethods
    ) -> JSONResponseSerializer {
        JSONResponseSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
    }
}
