package import FoundationEssentials

/// Makes elements of the pieces in which a body comes, whatever their borders are.
///
/// ``next()`` is called until it returns `nil` after each piece, and again after ``finish()``.
protocol BodyFramer: SendableMetatype {
    /// The type of its elements.
    associatedtype Element: Sendable

    /// Takes the next piece of the body.
    mutating func append(_ piece: Data) throws(RequestError)

    /// Takes note that the body is complete.
    mutating func finish() throws(RequestError)

    /// Returns the next element, if it is complete.
    mutating func next() throws(RequestError) -> Element?
}

extension TextLineFramer: BodyFramer {}

extension NewlineDelimitedJSON: BodyFramer {}

extension ServerSentEventParser: BodyFramer {
    /// Drops an event that is not complete, as the standard asks.
    mutating func finish() {}
}

/// Splits the text of a body into lines, in any charset.
///
/// A ``LineFramer`` alone does for UTF-8, in which an LF is always an LF; other charsets are decoded first.
package struct TextLineFramer {
    private var lines: LineFramer
    /// The decoder to UTF-8; `nil` if the bytes are UTF-8.
    private var decoder: TextFramer?

    /// Creates a framer.
    ///
    /// - Parameters:
    ///   - charset: The charset that the response names; see ``TextFramer``.
    ///   - limit: How many bytes of UTF-8 a line may have.
    package init(charset: String? = nil, limit: Int = LineFramer.defaultLimit) {
        lines = LineFramer(limit: limit)
        decoder = TextFramer(charset: charset)
    }

    /// Adds the next bytes of the body.
    ///
    /// - Parameter bytes: The bytes.
    /// - Throws: As ``TextFramer/decode(_:)`` does.
    package mutating func append(_ bytes: Data) throws(RequestError) {
        guard let text = try decoder?.decode(bytes) else { return lines.append(bytes) }
        lines.append(Data(text.utf8))
        if decoder?.isPlainUTF8 == true { decoder = nil }
    }

    /// Says that no more bytes are to come: what is left is the last line, if it is not empty.
    ///
    /// - Throws: As ``TextFramer/finish()`` does.
    package mutating func finish() throws(RequestError) {
        if let text = try decoder?.finish() { lines.append(Data(text.utf8)) }
        lines.finish()
    }

    /// Returns the next line without its end, if there is one.
    ///
    /// - Returns: The line, with U+FFFD for what is malformed; `nil` when more bytes are needed or this was the end.
    /// - Throws: As ``LineFramer/advance()`` does.
    package mutating func next() throws(RequestError) -> String? {
        try lines.nextText()
    }
}

/// Decodes the lines of a body, each of them a value by itself, whatever the chunks are that they come in.
///
/// Lines end with LF or CRLF, the last one also with the body. Blank ones are skipped, and so is a byte order mark.
package struct NewlineDelimitedJSON<Value: Decodable & Sendable> {
    private let decoder: any DataDecoder
    private var lines: LineFramer

    /// Creates a decoder of lines.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - decoder: What decodes a line.
    ///   - limit: How many bytes a line may have.
    package init(
        of type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder(),
        limit: Int = LineFramer.defaultLimit
    ) {
        self.decoder = decoder
        lines = LineFramer(limit: limit)
    }

    /// Adds the next bytes of the body.
    ///
    /// - Parameter bytes: The bytes.
    package mutating func append(_ bytes: Data) {
        lines.append(bytes)
    }

    /// Says that no more bytes are to come: what is left is the last line, if it is not blank.
    package mutating func finish() {
        lines.finish()
    }

    /// Returns the next value, if its line is complete.
    ///
    /// A line that cannot be decoded is consumed: the next call continues with the line after it.
    ///
    /// - Returns: The value, or `nil` when more bytes are needed or this was the end.
    /// - Throws: `.serialization(.decodingFailed)` with what the decoder threw as the underlying error and the line's
    ///   number, counted from 1, in the detail; `.invalidResponse(.bodyTooLarge(limit:))` when a line is longer than the
    ///   limit, then again for each further call.
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
            // A decoder of the user's own may count from 0, and may keep what it is given.
            return try decoder.decode(Value.self, from: decoder is JSONDecoder ? line : Data(line))
        } catch {
            throw RequestError(.serialization(.decodingFailed), detail: "line \(lines.count)", underlying: error)
        }
    }
}
