public import FoundationEssentials

/// Returns the body as a value of a `Decodable` type; also written `.decodable(of:)` and `.propertyList(of:)`.
///
/// When the body is empty and may be, the result is the type's ``EmptyResponse/emptyValue()``; a type without one is an
/// error then.
public struct DecodableResponseSerializer<Value: Decodable & Sendable>: SynchronousResponseSerializer {
    /// What the body goes through first.
    public let dataPreprocessor: any DataPreprocessor

    /// What decodes the body.
    public let decoder: any DataDecoder

    /// The methods whose responses may have an empty body.
    public let emptyRequestMethods: Set<HTTPMethod>

    /// The status codes whose responses may have an empty body.
    public let emptyResponseCodes: Set<Int>

    /// Creates the serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: What the body goes through first.
    ///   - decoder: What decodes the body; JSON by default.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body.
    public init(
        dataPreprocessor: any DataPreprocessor = .passthrough, decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.decoder = decoder
        self.emptyRequestMethods = emptyRequestMethods
        self.emptyResponseCodes = emptyResponseCodes
    }

    /// Returns the body as a value.
    ///
    /// - Parameter input: The exchange.
    /// - Returns: The value.
    /// - Throws: ``RequestError`` `.serialization(.decodingFailed)` with the decoder's error as the underlying one,
    ///   `.serialization(.invalidEmptyResponse(type:))` when the body is empty, may be, and the type has no value for
    ///   that, `.serialization(.inputDataNilOrZeroLength)` when it may not be; what the preprocessor throws.
    public func serialize(_ input: SerializerInput) throws -> Value {
        guard let data = try preprocessedData(of: input) else { return try emptyValue() }
        do {
            return try decoder.decode(Value.self, from: data)
        } catch let error as RequestError {
            throw error
        } catch {
            throw RequestError(.serialization(.decodingFailed), underlying: error)
        }
    }

    private func emptyValue() throws(RequestError) -> Value {
        guard let type = Value.self as? any EmptyResponse.Type, let value = type.emptyValue() as? Value else {
            throw RequestError(.serialization(.invalidEmptyResponse(type: "\(Value.self)")))
        }
        return value
    }
}

extension ResponseSerializer {
    /// Returns the body as a value of a `Decodable` type.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - dataPreprocessor: What the body goes through first.
    ///   - decoder: What decodes the body; JSON by default.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body.
    /// - Returns: The serializer.
    public static func decodable<Value: Decodable & Sendable>(
        of type: Value.Type, dataPreprocessor: any DataPreprocessor = .passthrough,
        decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> Self where Self == DecodableResponseSerializer<Value> {
        DecodableResponseSerializer(
            dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
    }

    /// Returns the body, a property list in XML or binary form, as a value of a `Decodable` type.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - dataPreprocessor: What the body goes through first.
    ///   - decoder: What decodes the body.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body.
    /// - Returns: The serializer.
    public static func propertyList<Value: Decodable & Sendable>(
        of type: Value.Type, dataPreprocessor: any DataPreprocessor = .passthrough,
        decoder: PropertyListDecoder = PropertyListDecoder(),
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> Self where Self == DecodableResponseSerializer<Value> {
        DecodableResponseSerializer(
            dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
    }
}
