public import FoundationEssentials

/// Returns the body as text; also written `.string`.
///
/// The encoding is, in this order: the one given; the one of the byte order mark that the body begins with; the
/// `charset` of the response's `Content-Type`; UTF-8 if the body is well-formed UTF-8; ISO-8859-1, in which all bytes
/// mean something. A byte order mark is not part of the text. Known charsets are UTF-8, UTF-16 and UTF-32 (with either
/// byte order; little-endian where nothing says otherwise), ISO-8859-1, US-ASCII (read as UTF-8 or ISO-8859-1),
/// windows-1252, and those of the Encoding Standard that the system has tables of (glibc's `gconv` modules, which small
/// images may leave out): the other parts of ISO-8859, windows-874 and 1250 to 1258, KOI8-R and KOI8-U, macintosh,
/// Shift_JIS, EUC-JP, ISO-2022-JP, GBK, GB18030, Big5, EUC-KR. Text that is not well-formed in its encoding is an error,
/// never replaced silently, and so is an unknown charset unless the body is well-formed UTF-8.
public struct StringResponseSerializer: SynchronousResponseSerializer {
    /// What the body goes through first.
    public let dataPreprocessor: any DataPreprocessor

    /// The encoding, whatever the response says; `nil` to find it out.
    public let encoding: String.Encoding?

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

    /// Returns the body as text.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: What the body goes through first.
    ///   - encoding: The encoding, whatever the response says; `nil` to find it out.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body.
    /// - Returns: The serializer.
    public static func string(
        dataPreprocessor: any DataPreprocessor = .passthrough, encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods
    ) -> StringResponseSerializer {
        StringResponseSerializer(
            dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
    }
}
