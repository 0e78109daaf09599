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

    /// Returns the body, preprocessed, as bytes.
    ///
    /// - Parameter dataPreprocessor: What the body goes through first.
    /// - Returns: The serializer.
    package static func data(dataPreprocessor: any DataPreprocessor) -> DataResponseSerializer {
        DataResponseSerializer(dataPreprocessor: dataPreprocessor)
    }
}

/// Returns the body as text; also written `.string`.
///
/// The encoding is, in this order: the encoding passed in; that of the byte order mark at the start of the body; the
/// `charset` of the response's `Content-Type`; UTF-8 if the body is well-formed UTF-8; ISO-8859-1, in which all bytes
/// mean something. A byte order mark is not part of the text. Known charsets are UTF-8, UTF-16 and UTF-32 (with either
/// byte order; little-endian by default), ISO-8859-1, US-ASCII (read as UTF-8 or ISO-8859-1), windows-1252, and those
/// of the Encoding Standard that the system has tables of (glibc's `gconv` modules, which small images may leave out):
/// the other parts of ISO-8859, windows-874 and 1250 to 1258, KOI8-R and KOI8-U, macintosh, Shift_JIS, EUC-JP,
/// ISO-2022-JP, GBK, GB18030, Big5, EUC-KR. Text that is not well-formed in its encoding is an error, never replaced
/// silently, and so is an unknown charset unless the body is well-formed UTF-8.
public struct StringResponseSerializer: SynchronousResponseSerializer {
    /// What the body goes through first.
    public let dataPreprocessor: any DataPreprocessor

    /// The encoding, whatever the response says; `nil` to find it out.
    package let encoding: String.Encoding?

    /// The methods whose responses may have an empty body.
    public let emptyRequestMethods: Set<HTTPMethod>

    /// The status codes whose responses may have an empty body.
    public let emptyResponseCodes: Set<Int>

    /// Creates the serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: What the body goes through first.
    ///   - encoding: The encoding, whatever the response says; `nil` to find it out.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body.
    public init(
        dataPreprocessor: any DataPreprocessor = .passthrough, encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.encoding = encoding
        self.emptyRequestMethods = emptyRequestMethods
        self.emptyResponseCodes = emptyResponseCodes
    }

    /// Returns the body as text.
    ///
    /// - Parameter input: The exchange.
    /// - Returns: The text; empty when the body is empty and may be.
    /// - Throws: ``RequestError`` `.serialization(.stringSerializationFailed(encoding:))` when the body is not text in
    ///   its encoding, `.serialization(.inputDataNilOrZeroLength)` when it is empty and may not be; what the
    ///   preprocessor throws.
    public func serialize(_ input: SerializerInput) throws -> String {
        guard let data = try preprocessedData(of: input) else { return "" }
        return try TextDecoder.decode(data, encoding: encoding, charset: input.response?.textEncoding)
    }
}

extension ResponseSerializer where Self == StringResponseSerializer {
    /// Returns the body as text, in the encoding that it says or shows.
    public static var string: StringResponseSerializer { StringResponseSerializer() }

    /// Returns the body as text in an encoding, whatever the response says.
    ///
    /// - Parameter encoding: The encoding.
    /// - Returns: The serializer.
    package static func string(encoding: String.Encoding) -> StringResponseSerializer {
        StringResponseSerializer(encoding: encoding)
    }
}

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

    /// Returns the body, preprocessed, as a JSON value.
    ///
    /// - Parameter dataPreprocessor: What the body goes through first.
    /// - Returns: The serializer.
    package static func json(dataPreprocessor: any DataPreprocessor) -> JSONResponseSerializer {
        JSONResponseSerializer(dataPreprocessor: dataPreprocessor)
    }
}

/// Returns the body as a value of a `Decodable` type; also written `.decodable(of:)` and `.propertyList(of:)`.
///
/// When the body is empty and may be, the result is the type's ``EmptyResponse/emptyValue()``; a type without one is an
/// error then.
public struct DecodableResponseSerializer<Value: Decodable & Sendable>: SynchronousResponseSerializer {
    /// What the body goes through first.
    public let dataPreprocessor: any DataPreprocessor

    /// What decodes the body.
    package let decoder: any DataDecoder

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
    ///   - decoder: What decodes the body; JSON by default.
    /// - Returns: The serializer.
    public static func decodable<Value: Decodable & Sendable>(
        of type: Value.Type, decoder: any DataDecoder = JSONDecoder()
    ) -> Self where Self == DecodableResponseSerializer<Value> {
        DecodableResponseSerializer(decoder: decoder)
    }

    /// Returns the body, a property list in XML or binary form, as a value of a `Decodable` type.
    ///
    /// - Parameter type: The type to decode.
    /// - Returns: The serializer.
    package static func propertyList<Value: Decodable & Sendable>(
        of type: Value.Type
    ) -> Self where Self == DecodableResponseSerializer<Value> {
        DecodableResponseSerializer(decoder: PropertyListDecoder())
    }
}

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
