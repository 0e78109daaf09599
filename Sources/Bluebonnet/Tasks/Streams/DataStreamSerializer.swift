public import FoundationEssentials

/// Makes a value of each piece of a streamed body, as it comes in.
///
/// The pieces are what the network makes of the body: their borders mean nothing. For a format with borders of its own,
/// ``DataStreamTask`` has sequences of lines, of values and of events.
public protocol DataStreamSerializer<SerializedObject>: Sendable {
    /// What is made of a piece.
    associatedtype SerializedObject: Sendable

    /// Makes a value of a piece of the body.
    ///
    /// Runs on the global pool, for one piece after the other.
    ///
    /// - Parameter data: The piece; never empty.
    /// - Returns: The value.
    /// - Throws: Why there is none; reported as `.serialization(.customSerializationFailed)` unless it is a
    ///   ``RequestError``.
    @concurrent
    func serialize(_ data: Data) async throws -> SerializedObject
}

/// Hands the pieces on as they are.
public struct PassthroughStreamSerializer: DataStreamSerializer {
    /// Creates a serializer.
    public init() {}

    /// Returns the piece.
    ///
    /// - Parameter data: The piece.
    /// - Returns: The same.
    public func serialize(_ data: Data) async -> Data { data }
}

/// Takes each piece for text by itself: UTF-8, with U+FFFD for what is malformed, or cut apart by the network.
public struct StringStreamSerializer: DataStreamSerializer {
    /// Creates a serializer.
    public init() {}

    /// Returns the piece as text.
    ///
    /// - Parameter data: The piece.
    /// - Returns: The text.
    public func serialize(_ data: Data) async -> String { String(decoding: data, as: UTF8.self) }
}

/// Decodes each piece by itself, for servers that flush a whole value at a time.
public struct DecodableStreamSerializer<Value: Decodable & Sendable>: DataStreamSerializer {
    /// The decoder of a piece.
    package let decoder: any DataDecoder
    /// What a piece goes through first.
    package let dataPreprocessor: any DataPreprocessor

    /// Creates a serializer.
    ///
    /// - Parameters:
    ///   - decoder: The decoder for each piece; JSON by default.
    ///   - dataPreprocessor: The preprocessor that each piece passes through before decoding; none by default.
    public init(decoder: any DataDecoder = JSONDecoder(), dataPreprocessor: any DataPreprocessor = .passthrough) {
        self.decoder = decoder
        self.dataPreprocessor = dataPreprocessor
    }

    /// Returns the value in a piece.
    ///
    /// - Parameter data: The piece.
    /// - Returns: The value.
    /// - Throws: The preprocessor's error, and `.serialization(.decodingFailed)`.
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
    /// Hands the pieces on as they are.
    public static var passthrough: PassthroughStreamSerializer { PassthroughStreamSerializer() }
}

extension DataStreamSerializer where Self == StringStreamSerializer {
    /// Takes each piece for text by itself.
    public static var string: StringStreamSerializer { StringStreamSerializer() }
}

extension DataStreamSerializer {
    /// Decodes each piece by itself.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder for each piece; JSON by default.
    ///   - dataPreprocessor: The preprocessor that each piece passes through before decoding; none by default.
    /// - Returns: The serializer.
    public static func decodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder(),
        dataPreprocessor: any DataPreprocessor = .passthrough
    ) -> Self where Self == DecodableStreamSerializer<Value> {
        DecodableStreamSerializer(decoder: decoder, dataPreprocessor: dataPreprocessor)
    }
}
