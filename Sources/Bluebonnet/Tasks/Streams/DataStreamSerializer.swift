public import FoundationEssentials

/// A type that converts each piece of a streamed body to a value.
///
/// A piece contains some bytes of the body. The network determines where a piece ends, so the end of a piece has no
/// meaning. If the body consists of lines, JSON values or server-sent events, use the sequences of ``DataStreamTask``.
public protocol DataStreamSerializer<SerializedObject>: Sendable {
    /// The type of the values.
    associatedtype SerializedObject: Sendable

    /// Converts a piece of the body to a value.
    ///
    /// The method runs on the global executor, or on the preferred executor of the Swift task that runs the loop. Each
    /// loop calls the method for one piece at a time.
    ///
    /// - Parameter data: A piece of the body, which is never empty.
    /// - Returns: The value for the piece.
    /// - Throws: Any error if the piece cannot be converted. An error that is not a ``RequestError`` becomes the
    ///   underlying error of `.serialization(.customSerializationFailed)`.
    @concurrent
    func serialize(_ data: Data) async throws -> SerializedObject
}

/// A stream serializer that returns each piece unchanged.
public struct PassthroughStreamSerializer: DataStreamSerializer {
    /// Creates a serializer.
    public init() {}

    /// Returns the piece unchanged.
    ///
    /// - Parameter data: A piece of the body.
    /// - Returns: The same bytes.
    public func serialize(_ data: Data) async -> Data { data }
}

/// A stream serializer that decodes each piece as UTF-8 text.
///
/// Each piece is decoded independently. Malformed bytes become U+FFFD. A character that is split between two pieces
/// also becomes U+FFFD.
public struct StringStreamSerializer: DataStreamSerializer {
    /// Creates a serializer.
    public init() {}

    /// Returns the piece as text.
    ///
    /// - Parameter data: A piece of the body.
    /// - Returns: The text of the piece.
    public func serialize(_ data: Data) async -> String { String(decoding: data, as: UTF8.self) }
}

/// A stream serializer that decodes a value from each piece.
///
/// Use it only if each piece contains one complete value.
public struct DecodableStreamSerializer<Value: Decodable & Sendable>: DataStreamSerializer {
    /// The decoder for each piece.
    public let decoder: any DataDecoder
    /// The preprocessor that is applied to each piece before decoding.
    public let dataPreprocessor: any DataPreprocessor

    /// Creates a serializer.
    ///
    /// - Parameters:
    ///   - decoder: The decoder for each piece; a `JSONDecoder` by default.
    ///   - dataPreprocessor: The preprocessor to apply to each piece before decoding; none by default.
    public init(decoder: any DataDecoder = JSONDecoder(), dataPreprocessor: any DataPreprocessor = .passthrough) {
        self.decoder = decoder
        self.dataPreprocessor = dataPreprocessor
    }

    /// Decodes a value from the piece.
    ///
    /// - Parameter data: A piece of the body.
    /// - Returns: The decoded value.
    /// - Throws: The error of the preprocessor, or `.serialization(.decodingFailed)` with the error of the decoder as
    ///   the underlying error.
    public func serialize(_ data: Data) async throws -> Value {
        let data = try dataPreprocessor.preprocess(data)
        return try RequestError.wrapping(.serialization(.decodingFailed)) { try decoder.decode(Value.self, from: data) }
    }
}

extension DataStreamSerializer where Self == PassthroughStreamSerializer {
    /// A serializer that returns each piece unchanged.
    public static var passthrough: PassthroughStreamSerializer { PassthroughStreamSerializer() }
}

extension DataStreamSerializer where Self == StringStreamSerializer {
    /// A serializer that decodes each piece as UTF-8 text.
    public static var string: StringStreamSerializer { StringStreamSerializer() }
}

extension DataStreamSerializer {
    /// Returns a serializer that decodes a value from each piece.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder for each piece; a `JSONDecoder` by default.
    ///   - dataPreprocessor: The preprocessor to apply to each piece before decoding; none by default.
    /// - Returns: A serializer for values of the type.
    public static func decodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder(),
        dataPreprocessor: any DataPreprocessor = .passthrough
    ) -> Self where Self == DecodableStreamSerializer<Value> {
        DecodableStreamSerializer(decoder: decoder, dataPreprocessor: dataPreprocessor)
    }
}
