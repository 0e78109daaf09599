public import FoundationEssentials

/// A serializer that returns the body as bytes; shorthand `.data`.
public struct DataResponseSerializer: SynchronousResponseSerializer {
    /// The preprocessor that is applied to the body first.
    public let dataPreprocessor: any DataPreprocessor

    /// The methods whose responses may have an empty body.
    public let emptyRequestMethods: Set<HTTPMethod>

    /// The status codes whose responses may have an empty body.
    public let emptyResponseCodes: Set<Int>

    /// Creates the serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: The preprocessor to apply to the body first; none by default.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body; `HEAD` by default.
    public init(
        dataPreprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.emptyRequestMethods = emptyRequestMethods
        self.emptyResponseCodes = emptyResponseCodes
    }

    /// Returns the preprocessed body.
    ///
    /// - Parameter input: The request, response and body of the exchange.
    /// - Returns: The bytes of the body, or no bytes if the body is empty and the method or status code allows it.
    /// - Throws: ``RequestError`` with `.serialization(.inputDataNilOrZeroLength)` if the body is empty and neither
    ///   the method nor the status code allows it. Errors of the preprocessor are thrown unchanged.
    public func serialize(_ input: SerializerInput) throws -> Data {
        try preprocessedData(of: input) ?? Data()
    }
}

extension ResponseSerializer where Self == DataResponseSerializer {
    /// A serializer that returns the body as bytes.
    public static var data: DataResponseSerializer { DataResponseSerializer() }

    /// A serializer that returns the preprocessed body as bytes.
    ///
    /// - Parameter dataPreprocessor: The preprocessor to apply to the body first.
    /// - Returns: A serializer with this preprocessor.
    public static func data(dataPreprocessor: any DataPreprocessor) -> DataResponseSerializer {
        DataResponseSerializer(dataPreprocessor: dataPreprocessor)
    }
}

/// A serializer that returns the body as text; shorthand `.string`.
///
/// The encoding is the first of these that applies:
/// 1. The encoding given to the serializer.
/// 2. The byte order mark at the start of the body. It is not part of the text.
/// 3. The `charset` of the response's `Content-Type`.
/// 4. UTF-8, if the body is well-formed UTF-8.
/// 5. ISO-8859-1, in which every byte is valid.
///
/// Bluebonnet itself decodes these charsets:
/// - UTF-8
/// - UTF-16 and UTF-32, with either byte order; little-endian by default
/// - ISO-8859-1 and windows-1252
/// - US-ASCII, which is read as UTF-8 or ISO-8859-1
///
/// The following charsets need tables of the system (glibc's `gconv` modules), which small images may not have: the
/// other parts of ISO-8859, windows-874, windows-1250, 1251 and 1253 to 1258, IBM437, IBM850, IBM852, IBM866, KOI8-R,
/// KOI8-U, macintosh, x-mac-cyrillic, Shift_JIS, EUC-JP, ISO-2022-JP, GBK, GB18030, Big5 and EUC-KR.
///
/// Text that is not well-formed in its encoding is an error; malformed bytes are never replaced silently. An unknown
/// charset is an error too, unless the body is well-formed UTF-8.
public struct StringResponseSerializer: SynchronousResponseSerializer {
    /// The preprocessor that is applied to the body first.
    public let dataPreprocessor: any DataPreprocessor

    /// The encoding to use instead of the response's; `nil` to detect it.
    package let encoding: String.Encoding?

    /// The methods whose responses may have an empty body.
    public let emptyRequestMethods: Set<HTTPMethod>

    /// The status codes whose responses may have an empty body.
    public let emptyResponseCodes: Set<Int>

    /// Creates the serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: The preprocessor to apply to the body first; none by default.
    ///   - encoding: The encoding to use instead of the response's; `nil`, the default, to detect it.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body; `HEAD` by default.
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
    /// - Parameter input: The request, response and body of the exchange.
    /// - Returns: The text, or an empty string if the body is empty and the method or status code allows it.
    /// - Throws: ``RequestError`` with `.serialization(.stringSerializationFailed(encoding:))` if the body is
    ///   malformed in its encoding. ``RequestError`` with `.serialization(.inputDataNilOrZeroLength)` if the body is
    ///   empty and neither the method nor the status code allows it. Errors of the preprocessor are thrown unchanged.
    public func serialize(_ input: SerializerInput) throws -> String {
        guard let data = try preprocessedData(of: input) else { return "" }
        return try TextDecoder.decode(data, encoding: encoding, charset: input.response?.textEncoding)
    }
}

extension ResponseSerializer where Self == StringResponseSerializer {
    /// A serializer that returns the body as text and detects the encoding.
    public static var string: StringResponseSerializer { StringResponseSerializer() }

    /// A serializer that returns the body as text in a fixed encoding, regardless of the response.
    ///
    /// - Parameter encoding: The encoding of the text.
    /// - Returns: A serializer for this encoding.
    public static func string(encoding: String.Encoding) -> StringResponseSerializer {
        StringResponseSerializer(encoding: encoding)
    }
}

/// A serializer that returns the body as a ``JSONValue``, for JSON without a fixed structure; shorthand `.json`.
public struct JSONResponseSerializer: SynchronousResponseSerializer {
    /// The preprocessor that is applied to the body first.
    public let dataPreprocessor: any DataPreprocessor

    /// The methods whose responses may have an empty body.
    public let emptyRequestMethods: Set<HTTPMethod>

    /// The status codes whose responses may have an empty body.
    public let emptyResponseCodes: Set<Int>

    /// Creates the serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: The preprocessor to apply to the body first; none by default.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body; `HEAD` by default.
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
    /// - Parameter input: The request, response and body of the exchange.
    /// - Returns: The parsed value, or ``JSONValue/null`` if the body is empty and the method or status code allows
    ///   it.
    /// - Throws: ``RequestError`` with `.serialization(.jsonSerializationFailed)` if the body is not JSON; the
    ///   underlying error is a ``JSONParsingError``. ``RequestError`` with `.serialization(.inputDataNilOrZeroLength)`
    ///   if the body is empty and neither the method nor the status code allows it. Errors of the preprocessor are
    ///   thrown unchanged.
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
    /// A serializer that returns the body as a JSON value.
    public static var json: JSONResponseSerializer { JSONResponseSerializer() }

    /// A serializer that returns the preprocessed body as a JSON value.
    ///
    /// - Parameter dataPreprocessor: The preprocessor to apply to the body first.
    /// - Returns: A serializer with this preprocessor.
    public static func json(dataPreprocessor: any DataPreprocessor) -> JSONResponseSerializer {
        JSONResponseSerializer(dataPreprocessor: dataPreprocessor)
    }
}

/// A serializer that decodes the body to a `Decodable` type; shorthands `.decodable(of:)` and `.propertyList(of:)`.
///
/// If the body is empty and the method or status code allows it, the result is the type's
/// ``EmptyResponse/emptyValue()``. Decoding fails if the type does not conform to ``EmptyResponse``.
public struct DecodableResponseSerializer<Value: Decodable & Sendable>: SynchronousResponseSerializer {
    /// The preprocessor that is applied to the body first.
    public let dataPreprocessor: any DataPreprocessor

    /// The decoder for the body.
    package let decoder: any DataDecoder

    /// The methods whose responses may have an empty body.
    public let emptyRequestMethods: Set<HTTPMethod>

    /// The status codes whose responses may have an empty body.
    public let emptyResponseCodes: Set<Int>

    /// Creates the serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: The preprocessor to apply to the body first; none by default.
    ///   - decoder: The decoder for the body; a `JSONDecoder` by default.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body; `HEAD` by default.
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

    /// Returns the body as a decoded value.
    ///
    /// - Parameter input: The request, response and body of the exchange.
    /// - Returns: The decoded value, or the type's empty value if the body is empty and the method or status code
    ///   allows it.
    /// - Throws: ``RequestError`` with `.serialization(.decodingFailed)` if the decoder fails; the underlying error is
    ///   that of the decoder. ``RequestError`` with `.serialization(.invalidEmptyResponse(type:))` if an empty body is
    ///   allowed, but the type has no empty value. ``RequestError`` with `.serialization(.inputDataNilOrZeroLength)`
    ///   if the body is empty and neither the method nor the status code allows it. Errors of the preprocessor are
    ///   thrown unchanged.
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
    /// A serializer that decodes the body to a `Decodable` type.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder for the body; a `JSONDecoder` by default.
    /// - Returns: A serializer for this type.
    public static func decodable<Value: Decodable & Sendable>(
        of type: Value.Type, decoder: any DataDecoder = JSONDecoder()
    ) -> Self where Self == DecodableResponseSerializer<Value> {
        DecodableResponseSerializer(decoder: decoder)
    }

    /// A serializer that decodes a property list, in XML or binary form, to a `Decodable` type.
    ///
    /// - Parameter type: The type to decode.
    /// - Returns: A serializer for this type.
    public static func propertyList<Value: Decodable & Sendable>(
        of type: Value.Type
    ) -> Self where Self == DecodableResponseSerializer<Value> {
        DecodableResponseSerializer(decoder: PropertyListDecoder())
    }
}

/// A serializer that returns the URL of a downloaded file; shorthand `.url`.
public struct URLResponseSerializer: SynchronousResponseSerializer {
    /// Creates a serializer.
    public init() {}

    /// Returns the URL of the downloaded file.
    ///
    /// - Parameter input: The request, response and file URL of the exchange.
    /// - Returns: The URL of the file.
    /// - Throws: ``RequestError`` with `.serialization(.inputDataNilOrZeroLength)` if the response was not downloaded
    ///   to a file.
    public func serialize(_ input: SerializerInput) throws -> URL {
        guard let url = input.fileURL else { throw RequestError(.serialization(.inputDataNilOrZeroLength)) }
        return url
    }
}

extension ResponseSerializer where Self == URLResponseSerializer {
    /// A serializer that returns the URL of a downloaded file.
    public static var url: URLResponseSerializer { URLResponseSerializer() }
}
