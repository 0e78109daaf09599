public import FoundationEssentials

/// Converts each piece of a streamed body to a value, as the pieces arrive.
///
/// The network decides where pieces begin and end, so their boundaries have no meaning. For formats with their own
/// boundaries, ``DataStreamTask`` has sequences of lines, values and events.
public protocol DataStreamSerializer<SerializedObject>: Sendable {
    /// The type of value that a piece is converted to.
    associatedtype SerializedObject: Sendable

    /// Converts a piece of the body to a value.
    ///
    /// It is called on the global pool, with one piece after the other.
    ///
    /// - Parameter data: A piece of the body, which is never empty.
    /// - Returns: The value for the piece.
    /// - Throws: Any error, if the piece cannot be converted. An error that is not a ``RequestError`` becomes the
    ///   underlying error of `.serialization(.customSerializationFailed)`.
    @concurrent
    func serialize(_ data: Data) async throws -> SerializedObject
}

/// Returns each piece unchanged.
public struct PassthroughStreamSerializer: DataStreamSerializer {
    /// Creates a serializer.
    public init() {}

    /// Returns the piece unchanged.
    ///
    /// - Parameter data: A piece of the body.
    /// - Returns: The same bytes.
    public func serialize(_ data: Data) async -> Data { data }
}

/// Decodes each piece by itself as UTF-8 text.
///
/// Malformed bytes are replaced with U+FFFD, and so are characters that are split between two pieces.
public struct StringStreamSerializer: DataStreamSerializer {
    /// Creates a serializer.
    public init() {}

    /// Returns the piece as text.
    ///
    /// - Parameter data: A piece of the body.
    /// - Returns: The text of the piece.
    public func serialize(_ data: Data) async -> String { String(decoding: data, as: UTF8.self) }
}

/// Decodes each piece by itself, for servers that send each value in one piece.
public struct DecodableStreamSerializer<Value: Decodable & Sendable>: DataStreamSerializer {
    /// The decoder for each piece.
    package let decoder: any DataDecoder
    /// The preprocessor that each piece passes through before decoding.
    package let dataPreprocessor: any DataPreprocessor

    /// Creates a serializer.
    ///
    /// - Parameters:
    ///   - decoder: The decoder for each piece; a `JSONDecoder` by default.
    ///   - dataPreprocessor: The preprocessor that each piece passes through before decoding; none by default.
    public init(decoder: any DataDecoder = JSONDecoder(), dataPreprocessor: any DataPreprocessor = .passthrough) {
        self.decoder = decoder
        self.dataPreprocessor = dataPreprocessor
    }

    /// Decodes the value in a piece.
    ///
    /// - Parameter data: A piece of the body.
    /// - Returns: The decoded value.
    /// - Throws: The preprocessor's error, or `.serialization(.decodingFailed)` with the decoder's error as the
    ///   underlying error.
    public func serialize(_ data: Data) async throws -> Value {
        let data = try dataPreprocessor.preprocess(data)
        do {
            return try decoder.decode(Value.self, from: data)
        } catch {
            throw RequestError(.serialization(.decodingFailed), underlying: error)
        }
    }
}

extension DataStreamSerializer where Self == PassthroughStreamSerializer {
    /// A serializer that returns each piece unchanged.
    public static var passthrough: PassthroughStreamSerializer { PassthroughStreamSerializer() }
}

extension DataStreamSerializer where Self == StringStreamSerializer {
    /// A serializer that decodes each piece by itself as UTF-8 text.
    public static var string: StringStreamSerializer { StringStreamSerializer() }
}

extension DataStreamSerializer {
    /// Returns a serializer that decodes each piece by itself.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder for each piece; a `JSONDecoder` by default.
    ///   - dataPreprocessor: The preprocessor that each piece passes through before decoding; none by default.
    /// - Returns: A serializer for values of the type.
    public static func decodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder(),
        dataPreprocessor: any DataPreprocessor = .passthrough
    ) -> Self where Self == DecodableStreamSerializer<Value> {
        DecodableStreamSerializer(decoder: decoder, dataPreprocessor: dataPreprocessor)
    }
}
