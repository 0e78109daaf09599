public import FoundationEssentials

/// A serializer that returns the body as bytes.
///
/// You can write `.data` instead of `DataResponseSerializer()`.
public struct DataResponseSerializer: SynchronousResponseSerializer {
    /// The preprocessor that is applied to the body before serialization.
    public let dataPreprocessor: any DataPreprocessor

    /// The request methods whose responses may have an empty body.
    public let emptyRequestMethods: Set<HTTPMethod>

    /// The status codes whose responses may have an empty body.
    public let emptyResponseCodes: Set<Int>

    /// Creates a serializer that returns the body as bytes.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: The preprocessor to apply to the body before serialization; none by default.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The request methods whose responses may have an empty body; `HEAD` by default.
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
    /// - Returns: The bytes of the body. The result is empty if the body is empty, and the request method or the status
    ///   code allows this.
    /// - Throws: ``RequestError`` with `.serialization(.inputDataNilOrZeroLength)` if the body is empty, and neither
    ///   the request method nor the status code allows this. An error of the preprocessor is rethrown unchanged.
    public func serialize(_ input: SerializerInput) throws -> Data {
        try preprocessedData(of: input) ?? Data()
    }
}

extension ResponseSerializer where Self == DataResponseSerializer {
    /// A serializer that returns the body as bytes.
    public static var data: DataResponseSerializer { DataResponseSerializer() }

    /// Returns a serializer that returns the preprocessed body as bytes.
    ///
    /// - Parameter dataPreprocessor: The preprocessor to apply to the body before serialization.
    /// - Returns: A serializer with this preprocessor.
    public static func data(dataPreprocessor: any DataPreprocessor) -> DataResponseSerializer {
        DataResponseSerializer(dataPreprocessor: dataPreprocessor)
    }
}

/// A serializer that accepts every body.
struct NothingSerializer: SynchronousResponseSerializer {
    func serialize(_ input: SerializerInput) {}
}

/// A serializer that returns the body as text.
///
/// You can write `.string` instead of `StringResponseSerializer()`. The serializer uses the first available encoding of
/// this list:
/// 1. The encoding that was passed to the initializer.
/// 2. The encoding of a byte order mark at the start of the body. The text does not contain the mark.
/// 3. The `charset` of the response's `Content-Type`.
/// 4. UTF-8, if the body is well-formed UTF-8.
/// 5. windows-1252, if the body is not well-formed UTF-8.
///
/// Bluebonnet decodes these charsets itself:
/// - UTF-8
/// - UTF-16 and UTF-32 in both byte orders, with little-endian as the default
/// - windows-1252, which is also used if the response names ISO-8859-1, as in the WHATWG's Encoding Standard
/// - US-ASCII, decoded as UTF-8, or as windows-1252 if the body is not well-formed UTF-8
///
/// Other charsets require glibc's `gconv` modules, which small container images often do not contain:
/// - The other parts of ISO-8859
/// - windows-874, windows-1250, windows-1251, and windows-1253 to windows-1258
/// - IBM437, IBM850, IBM852 and IBM866
/// - KOI8-R, KOI8-U, macintosh and x-mac-cyrillic
/// - Shift_JIS, EUC-JP, ISO-2022-JP, GBK, GB18030, Big5 and EUC-KR
///
/// If the bytes are malformed in the encoding, the serializer throws an error. If the `charset` of the response is
/// unknown, or if its `gconv` module is missing, the body must be well-formed UTF-8. Otherwise, the serializer throws
/// an error. It also throws an error if you passed an encoding whose `gconv` module is missing.
///
/// With ``replacesMalformedBytes``, the serializer replaces malformed bytes with U+FFFD instead. If an encoding is not
/// available, it then decodes the text as UTF-8.
public struct StringResponseSerializer: SynchronousResponseSerializer {
    /// The preprocessor that is applied to the body before serialization.
    public let dataPreprocessor: any DataPreprocessor

    /// The encoding to use regardless of the response, or `nil` to detect the encoding from the response.
    public let encoding: String.Encoding?

    /// Whether U+FFFD replaces malformed bytes; otherwise, they are an error.
    public let replacesMalformedBytes: Bool

    /// The request methods whose responses may have an empty body.
    public let emptyRequestMethods: Set<HTTPMethod>

    /// The status codes whose responses may have an empty body.
    public let emptyResponseCodes: Set<Int>

    /// Creates a serializer that returns the body as text.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: The preprocessor to apply to the body before serialization; none by default.
    ///   - encoding: The encoding to use regardless of the response, or `nil` to detect the encoding; `nil` by default.
    ///   - replacesMalformedBytes: Whether U+FFFD replaces malformed bytes; `false` by default.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The request methods whose responses may have an empty body; `HEAD` by default.
    public init(
        dataPreprocessor: any DataPreprocessor = .passthrough, encoding: String.Encoding? = nil,
        replacesMalformedBytes: Bool = false,
        emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.encoding = encoding
        self.replacesMalformedBytes = replacesMalformedBytes
        self.emptyRequestMethods = emptyRequestMethods
        self.emptyResponseCodes = emptyResponseCodes
    }

    /// Returns the body as text.
    ///
    /// - Parameter input: The request, response and body of the exchange.
    /// - Returns: The text. The result is an empty string if the body is empty, and the request method or the status
    ///   code allows this.
    /// - Throws: ``RequestError`` with `.serialization(.stringSerializationFailed(encoding:))` if the body is malformed
    ///   in its encoding. ``RequestError`` with `.serialization(.inputDataNilOrZeroLength)` if the body is empty, and
    ///   neither the request method nor the status code allows this. An error of the preprocessor is rethrown
    ///   unchanged.
    public func serialize(_ input: SerializerInput) throws -> String {
        guard let data = try preprocessedData(of: input) else { return "" }
        return try TextDecoder.decode(
            data, encoding: encoding, charset: input.response?.textEncoding, repairs: replacesMalformedBytes)
    }
}

extension ResponseSerializer where Self == StringResponseSerializer {
    /// A serializer that detects the encoding of the body and returns the text.
    public static var string: StringResponseSerializer { StringResponseSerializer() }

    /// A serializer that returns the body as text, and replaces malformed bytes with U+FFFD.
    public static var lossyString: StringResponseSerializer { StringResponseSerializer(replacesMalformedBytes: true) }

    /// Returns a serializer that decodes the body in a fixed encoding, regardless of the response.
    ///
    /// - Parameter encoding: The encoding of the text.
    /// - Returns: A serializer for this encoding.
    public static func string(encoding: String.Encoding) -> StringResponseSerializer {
        StringResponseSerializer(encoding: encoding)
    }
}

/// A serializer that returns the body as a ``JSONValue``, for JSON without a fixed structure.
///
/// You can write `.json` instead of `JSONResponseSerializer()`.
public struct JSONResponseSerializer: SynchronousResponseSerializer {
    /// The preprocessor that is applied to the body before serialization.
    public let dataPreprocessor: any DataPreprocessor

    /// The request methods whose responses may have an empty body.
    public let emptyRequestMethods: Set<HTTPMethod>

    /// The status codes whose responses may have an empty body.
    public let emptyResponseCodes: Set<Int>

    /// Creates a serializer that returns the body as a JSON value.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: The preprocessor to apply to the body before serialization; none by default.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The request methods whose responses may have an empty body; `HEAD` by default.
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
    /// - Returns: The parsed value. The result is ``JSONValue/null`` if the body is empty, and the request method or
    ///   the status code allows this.
    /// - Throws: ``RequestError`` with `.serialization(.jsonSerializationFailed)` if the body is not valid JSON. The
    ///   underlying error is a ``JSONParsingError``. The error is `.serialization(.inputDataNilOrZeroLength)` if the
    ///   body is empty, and neither the request method nor the status code allows this. An error of the preprocessor is
    ///   rethrown unchanged.
    public func serialize(_ input: SerializerInput) throws -> JSONValue {
        guard let data = try preprocessedData(of: input) else { return .null }
        return try RequestError.wrapping(.serialization(.jsonSerializationFailed)) { try JSONValue(parsing: data) }
    }
}

extension ResponseSerializer where Self == JSONResponseSerializer {
    /// A serializer that returns the body as a JSON value.
    public static var json: JSONResponseSerializer { JSONResponseSerializer() }

    /// Returns a serializer that returns the preprocessed body as a JSON value.
    ///
    /// - Parameter dataPreprocessor: The preprocessor to apply to the body before serialization.
    /// - Returns: A serializer with this preprocessor.
    public static func json(dataPreprocessor: any DataPreprocessor) -> JSONResponseSerializer {
        JSONResponseSerializer(dataPreprocessor: dataPreprocessor)
    }
}

/// A serializer that decodes the body to a `Decodable` type.
///
/// You can write `.decodable(of:)` instead of the initializer. Some request methods and status codes allow an empty
/// body; see ``emptyRequestMethods`` and ``emptyResponseCodes``. For an allowed empty body, the serializer returns the
/// type's ``EmptyResponse/emptyValue()``. If the type does not conform to ``EmptyResponse``, the serializer throws an
/// error.
public struct DecodableResponseSerializer<Value: Decodable & Sendable>: SynchronousResponseSerializer {
    /// The preprocessor that is applied to the body before serialization.
    public let dataPreprocessor: any DataPreprocessor

    /// The decoder for the body.
    public let decoder: any DataDecoder

    /// The request methods whose responses may have an empty body.
    public let emptyRequestMethods: Set<HTTPMethod>

    /// The status codes whose responses may have an empty body.
    public let emptyResponseCodes: Set<Int>

    /// Creates a serializer that decodes the body.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: The preprocessor to apply to the body before serialization; none by default.
    ///   - decoder: The decoder for the body; a `JSONDecoder` by default.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The request methods whose responses may have an empty body; `HEAD` by default.
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

    /// Decodes the body.
    ///
    /// - Parameter input: The request, response and body of the exchange.
    /// - Returns: The decoded value. The result is the type's empty value if the body is empty, and the request method
    ///   or the status code allows this.
    /// - Throws: ``RequestError`` with `.serialization(.decodingFailed)` if the decoder throws an error. The error of
    ///   the decoder becomes the underlying error, but a ``RequestError`` of the decoder is rethrown unchanged.
    ///   The error is `.serialization(.invalidEmptyResponse(type:))` if an empty body is allowed, but the type has no
    ///   empty value. The error is `.serialization(.inputDataNilOrZeroLength)` if the body is empty, and neither
    ///   the request method nor the status code allows this. An error of the preprocessor is rethrown unchanged.
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
    /// Returns a serializer that decodes the body to a `Decodable` type.
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

    /// Returns a serializer that decodes a property list (XML or binary) to a `Decodable` type.
    ///
    /// - Parameter type: The type to decode.
    /// - Returns: A serializer for this type.
    public static func propertyList<Value: Decodable & Sendable>(
        of type: Value.Type
    ) -> Self where Self == DecodableResponseSerializer<Value> {
        DecodableResponseSerializer(decoder: PropertyListDecoder())
    }
}

/// A serializer that returns the URL of a downloaded file.
///
/// You can write `.url` instead of `URLResponseSerializer()`.
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
