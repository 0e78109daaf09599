package import FoundationEssentials

/// Turns the chunks of a body into elements, regardless of chunk boundaries.
///
/// After each chunk and after ``finish()``, ``next()`` is called until it returns `nil`.
protocol BodyFramer: SendableMetatype {
    /// The type of the elements.
    associatedtype Element: Sendable

    /// Adds the next chunk of the body.
    mutating func append(_ piece: Data) throws(RequestError)

    /// Marks the body as complete.
    mutating func finish() throws(RequestError)

    /// Returns the next element, if it is complete.
    mutating func next() throws(RequestError) -> Element?
}

extension TextLineFramer: BodyFramer {}

extension NewlineDelimitedJSON: BodyFramer {}

extension ServerSentEventParser: BodyFramer {
    /// Drops an incomplete event, as the standard requires.
    mutating func finish() {}
}

/// Splits the text of a body into lines, in any charset.
///
/// A ``LineFramer`` alone is enough for UTF-8, where the byte LF is always a line feed. Other charsets are decoded
/// first.
package struct TextLineFramer {
    private var lines: LineFramer
    /// The decoder, whose text is processed as UTF-8; `nil` if the body already is UTF-8.
    private var decoder: TextFramer?

    /// Creates a framer.
    ///
    /// - Parameters:
    ///   - charset: The charset that the response names; see ``TextFramer``.
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

    /// Marks the body as complete; the remaining text is the last line, unless it is empty.
    ///
    /// - Throws: The same errors as ``TextFramer/finish()``.
    package mutating func finish() throws(RequestError) {
        if let text = try decoder?.finish() { lines.append(Data(text.utf8)) }
        lines.finish()
    }

    /// Returns the next line without its line ending, if it is complete.
    ///
    /// - Returns: The line, with U+FFFD for malformed bytes; `nil` if more bytes are needed or there are no more
    ///   lines.
    /// - Throws: The same errors as ``LineFramer/advance()``.
    package mutating func next() throws(RequestError) -> String? {
        try lines.nextText()
    }
}

/// Decodes each line of a body as a separate value, regardless of chunk boundaries.
///
/// Lines end with LF or CRLF, and the last one may end with the body. Blank lines and a byte order mark are skipped.
package struct NewlineDelimitedJSON<Value: Decodable & Sendable> {
    private let decoder: any DataDecoder
    private var lines: LineFramer

    /// Creates a decoder of lines.
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
        lines = LineFramer(limit: limit)
    }

    /// Adds the next bytes of the body.
    ///
    /// - Parameter bytes: The next bytes of the body.
    package mutating func append(_ bytes: Data) {
        lines.append(bytes)
    }

    /// Marks the body as complete; the remaining bytes are the last line, unless they are blank.
    package mutating func finish() {
        lines.finish()
    }

    /// Returns the next value, if its line is complete.
    ///
    /// If a line cannot be decoded, the next call continues with the line after it.
    ///
    /// - Returns: The value, or `nil` if more bytes are needed or there are no more lines.
    /// - Throws: `.serialization(.decodingFailed)` with the decoder's error as the underlying error, and the number of
    ///   the line, counted from 1, in the detail. `.invalidResponse(.bodyTooLarge(limit:))` if a line is longer than
    ///   the limit; every further call throws this error again.
    package mutating func next() throws(RequestError) -> Value? {
        while try lines.advance() {
            var line = lines.line
            if lines.count == 1 { line = line.dropFirst(ByteOrderMark.utf8Length(in: line.span)) }
            let isBlank = line.allSatisfy { FieldSyntax.isWhitespace($0) || $0 == UInt8(ascii: "\r") }
            if !isBlank { return try decode(line) }
        }
        return nil
    }

    private func decode(_ line: Data) throws(RequestError) -> Value {
        do {
            // A custom decoder may assume that indices start at 0, and may keep the data.
            return try decoder.decode(Value.self, from: decoder is JSONDecoder ? line : Data(line))
        } catch {
            throw RequestError(.serialization(.decodingFailed), detail: "line \(lines.count)", underlying: error)
        }
    }
}
