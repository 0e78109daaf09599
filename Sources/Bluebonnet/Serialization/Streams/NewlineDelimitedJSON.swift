package import FoundationEssentials

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
    /// A line that cannot be decoded is done with: calling again goes on with the one after it.
    ///
    /// - Returns: The value, or `nil` when more bytes are needed or this was the end.
    /// - Throws: `.serialization(.decodingFailed)` with what the decoder threw as the underlying error and the line's
    ///   number, counted from 1, in the detail; `.invalidResponse(.bodyTooLarge(limit:))` when a line is longer than the
    ///   limit, then again for each further call.
    package mutating func next() throws(RequestError) -> Value? {
        while try lines.advance() {
            var line = lines.line
            if lines.count == 1 { line = line.dropFirst(ByteOrderMark.utf8Length(in: line.span)) }
            guard !Self.isBlank(line.span) else { continue }
            return try decode(line)
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

    private static func isBlank(_ line: Span<UInt8>) -> Bool {
        for index in line.indices {
            switch line[index] {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): continue
            default: return false
            }
        }
        return true
    }
}
