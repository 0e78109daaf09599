public import FoundationEssentials

/// A type that converts the chunks of a body to elements, regardless of chunk boundaries.
///
/// The caller calls ``next()`` after each chunk and after ``finish()``, until ``next()`` returns `nil`.
@usableFromInline
protocol BodyFramer: SendableMetatype {
    /// The type of the elements.
    associatedtype Element: Sendable

    /// Adds the next chunk of the body.
    mutating func append(_ piece: Data) throws(RequestError)

    /// Marks the body as complete.
    mutating func finish() throws(RequestError)

    /// Returns the next element, or `nil` if no element is complete.
    mutating func next() throws(RequestError) -> Element?
}

extension TextLineFramer: BodyFramer {}

extension NewlineDelimitedJSON: BodyFramer {}

extension ServerSentEventParser: BodyFramer {
    /// Discards an incomplete event, as WHATWG HTML §9.2.6 requires.
    mutating func finish() {}
}

/// Splits the text of a body into lines, in any charset.
///
/// A ``LineFramer`` splits UTF-8 directly. Text in another charset is first decoded.
package struct TextLineFramer {
    private var lines: LineFramer
    /// The decoder of the text, or `nil` if the body is UTF-8.
    private var decoder: TextFramer?

    /// Creates a framer.
    ///
    /// - Parameters:
    ///   - charset: The charset of the response; see ``TextFramer``.
    ///   - limit: The maximum length of a line, in bytes of UTF-8; 16 MiB by default.
    package init(charset: String? = nil, limit: Int = LineFramer.defaultLimit) {
        lines = LineFramer(limit: limit)
        decoder = TextFramer(charset: charset)
    }

    /// Adds the next bytes of the body.
    ///
    /// - Parameter bytes: The next bytes of the body.
    /// - Throws: The same errors as ``TextFramer/decode(_:)``.
    package mutating func append(_ bytes: Data) throws(RequestError) {
        guard let text = try decoder?.decode(bytes) else { return lines.append(bytes) }
        lines.append(Data(text.utf8))
        if decoder?.isPlainUTF8 == true { decoder = nil }
    }

    /// Marks the body as complete.
    ///
    /// If text remains, it becomes the last line.
    ///
    /// - Throws: The same errors as ``TextFramer/finish()``.
    package mutating func finish() throws(RequestError) {
        if let text = try decoder?.finish() { lines.append(Data(text.utf8)) }
        lines.finish()
    }

    /// Returns the next line without its line ending.
    ///
    /// - Returns: The line, with U+FFFD in place of malformed bytes. The result is `nil` if more bytes are needed or
    ///   there are no more lines.
    /// - Throws: The same errors as ``LineFramer/advance()``.
    package mutating func next() throws(RequestError) -> String? {
        try lines.nextText()
    }
}

/// Decodes each line of a body as a separate value; a line may span several chunks.
///
/// Lines end with LF or CRLF. The last line does not need a line ending, and neither does an object or an array. Blank
/// lines and a byte order mark at the start are skipped.
@usableFromInline
package struct NewlineDelimitedJSON<Value: Decodable & Sendable> {
    private let decoder: any DataDecoder
    /// Whether the decoder is Foundation's, which accepts slices, and fails if a line has more than one value.
    private let isJSONDecoder: Bool
    private var separator = JSONValueSeparator()
    private var lines: LineFramer
    /// The other values of the latest line.
    private var rest: ArraySlice<Data> = []
    /// The number of values that followed another value in a line.
    ///
    /// Each of them counts as a line, so that the numbers of lines do not depend on the chunks.
    private var additionalLines = 0

    /// Creates a framer.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - decoder: The decoder for each line; a `JSONDecoder` by default.
    ///   - limit: The maximum length of a line in bytes; 16 MiB by default.
    package init(
        of type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder(),
        limit: Int = LineFramer.defaultLimit
    ) {
        self.decoder = decoder
        isJSONDecoder = decoder is JSONDecoder
        lines = LineFramer(limit: limit)
    }

    /// Adds the next bytes of the body.
    ///
    /// - Parameter bytes: The next bytes of the body.
    @usableFromInline
    package mutating func append(_ bytes: Data) {
        lines.append(separator.separate(bytes))
    }

    /// Marks the body as complete.
    ///
    /// If bytes remain that are not blank, they become the last line.
    @usableFromInline
    package mutating func finish() {
        lines.finish()
    }

    /// Returns the next value.
    ///
    /// If a line cannot be decoded, the next call continues with the next line.
    ///
    /// - Returns: The value, or `nil` if more bytes are needed or there are no more lines.
    /// - Throws: `.serialization(.decodingFailed)` if a line cannot be decoded. The underlying error is the decoder's
    ///   error. The detail contains the number of the line, counted from 1. `.invalidResponse(.bodyTooLarge(limit:))`
    ///   if a line is longer than the limit. Later calls throw this error again.
    @usableFromInline
    package mutating func next() throws(RequestError) -> Value? {
        if let value = rest.popFirst() {
            additionalLines += 1
            return try decode(value)
        }
        while try lines.advance() {
            var line = lines.line
            if lines.count == 1 { line = line.dropFirst(ByteOrderMark.utf8Length(in: line.span)) }
            if lines.mayBeBlank || lines.count == 1, line.span.isBlank { continue }
            let values: [Data]
            if isJSONDecoder {
                do throws(RequestError) {
                    return try decode(line)
                } catch {
                    values = JSONValueSeparator.values(of: line)
                    guard values.count > 1 else { throw error }
                }
            } else {
                // The decoder may ignore the bytes after the first value.
                values = JSONValueSeparator.values(of: line)
            }
            rest = values.dropFirst()
            return try decode(values.first ?? line)
        }
        return nil
    }

    private func decode(_ line: Data) throws(RequestError) -> Value {
        do {
            return try decoder.decode(Value.self, from: isJSONDecoder ? line : Data(line))
        } catch {
            throw RequestError(
                .serialization(.decodingFailed), detail: "line \(lines.count + additionalLines)", underlying: error)
        }
    }
}

extension Span<UInt8> {
    /// Whether the line contains only spaces, tabs and CR.
    fileprivate var isBlank: Bool {
        for offset in indices where !FieldSyntax.isWhitespace(self[offset]) && self[offset] != UInt8(ascii: "\r") {
            return false
        }
        return true
    }
}
