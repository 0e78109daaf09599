package import FoundationEssentials

/// Splits the text of a body into lines, in any charset.
///
/// A ``LineFramer`` alone does for UTF-8, in which an LF is always an LF; other charsets are decoded first.
package struct TextLineFramer {
    private var lines: LineFramer
    /// What makes UTF-8 of the bytes; none when they are UTF-8.
    private var decoder: TextFramer?

    /// Creates a framer.
    ///
    /// - Parameters:
    ///   - encoding: The encoding that the text is in, whatever the response and the text itself say.
    ///   - charset: The charset that the response names; see ``TextFramer``.
    ///   - limit: How many bytes of UTF-8 a line may have.
    package init(
        encoding: String.Encoding? = nil, charset: String? = nil, limit: Int = LineFramer.defaultLimit
    ) {
        lines = LineFramer(limit: limit)
        decoder = TextFramer(encoding: encoding, charset: charset)
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
