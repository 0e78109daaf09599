import FoundationEssentials

/// Produces the bytes of a form, one part after the other.
///
/// Only one file or sequence is open at a time.
///
/// The reader runs on the global executor, where its caller runs. If a part does not have its announced length, the
/// reader throws before the delimiter after the part. The server then cannot mistake the received bytes for the whole
/// form.
struct MultipartReader: BodyReader {
    private let boundary: MultipartBoundary
    private let parts: [PreparedMultipartPart]
    private var position = 0
    private var content: MultipartContentReader?
    private var search: BoundarySearch?
    private var output = PieceBuffer()
    private var hasBegun = false
    private var isClosed = false

    /// Creates a reader of a form that searches the parts for the boundary if requested.
    init(boundary: MultipartBoundary, parts: [PreparedMultipartPart], searchesBoundary: Bool) {
        self.boundary = boundary
        self.parts = parts
        search = searchesBoundary ? BoundarySearch(boundary: boundary.text) : nil
    }

    mutating func next() async throws(RequestError) -> Data? {
        if !hasBegun { try begin() }
        while true {
            if let piece = output.takeReady() { return piece }
            if content != nil {
                // Available bytes must not wait for a sequence that may take a long time.
                if content?.part.mayWait == true, let piece = output.takeRest() { return piece }
                try await readContent()
            } else if position < parts.count {
                try beginPart()
            } else if !isClosed {
                output.append(Data(boundary.closing(hasParts: !parts.isEmpty).utf8))
                isClosed = true
            } else {
                return output.takeRest()
            }
        }
    }

    /// Claims all parts that can be read only once.
    ///
    /// Otherwise, a form might be sent up to a part that another reader has read.
    private mutating func begin() throws(RequestError) {
        hasBegun = true
        for part in parts { try part.take() }
    }

    private mutating func beginPart() throws(RequestError) {
        let part = parts[position]
        output.append(Data((position == 0 ? boundary.opening : boundary.delimiter).utf8) + part.head)
        content = try MultipartContentReader(part)
        search?.restart()
        position += 1
    }

    private mutating func readContent() async throws(RequestError) {
        // The content is taken out during the call. If the call fails, the file is closed at once, even if the reader
        // is retained.
        guard var content = content.take() else { return }
        guard let piece = try await content.next() else { return }
        guard search?.finds(in: piece) != true else {
            throw RequestError(
                .multipartEncoding(.boundaryInvalid(boundary.text)),
                detail: "it is in the part \(content.part.name.debugDescription)")
        }
        output.append(piece)
        self.content = content
    }
}

/// Reads the content of a part and checks that it has the announced number of bytes.
private struct MultipartContentReader {
    let part: PreparedMultipartPart
    private var reader: any BodyReader
    private var count: Int64 = 0

    init(_ part: PreparedMultipartPart) throws(RequestError) {
        self.part = part
        reader = try part.makeReader()
        // The file may have changed since its length was looked up.
        if let file = reader as? FileReader, let expected = part.length, file.length != expected {
            throw part.lengthMismatch(expected: expected, actual: file.length)
        }
    }

    /// Returns the next bytes, or `nil` at the end; never more bytes than announced.
    mutating func next() async throws(RequestError) -> Data? {
        let piece: Data?
        do {
            piece = try await reader.next()
        } catch {
            throw part.error(for: error)
        }
        count += Int64(piece?.count ?? 0)
        if let expected = part.length, piece == nil ? count != expected : count > expected {
            throw part.lengthMismatch(expected: expected, actual: count)
        }
        return piece
    }
}

/// Joins small pieces into larger pieces, and passes large pieces through, in their order.
///
/// A piece may be appended only after ``takeReady()`` has returned `nil`.
struct PieceBuffer: Sendable {
    /// A piece of at least this many bytes is not copied.
    static let largePiece = 16 * 1024
    /// Joined pieces are returned when they have at least this many bytes.
    static let fullPiece = 64 * 1024

    private var small = Data()
    private var large: Data?

    /// Appends bytes.
    mutating func append(_ bytes: Data) {
        if bytes.count < Self.largePiece {
            small.append(bytes)
        } else {
            large = bytes
        }
    }

    /// Returns the next piece that does not have to wait for more bytes.
    mutating func takeReady() -> Data? {
        if small.count >= Self.fullPiece || large != nil && !small.isEmpty { return takeRest() }
        defer { large = nil }
        return large
    }

    /// Returns the joined pieces so far, or `nil` if there are none.
    mutating func takeRest() -> Data? {
        defer { small = Data() }
        return small.isEmpty ? nil : small
    }
}

/// Checks and writes the boundary of a multipart body (RFC 2046 §5.1.1).
struct MultipartBoundary {
    let text: String

    /// The maximum length of a boundary in bytes.
    static let lengthLimit = 70

    /// Whether the boundary is valid: 1 to 70 allowed characters, without a space at the end.
    var isValid: Bool {
        let bytes = text.utf8
        return 1...Self.lengthLimit ~= bytes.count && bytes.allSatisfy(Self.isAllowed) && bytes.last != 0x20
    }

    /// The boundary as the value of a parameter: in quotes unless it is a token (RFC 9110 §5.6.6).
    ///
    /// A valid boundary contains no character that needs a backslash.
    var parameterValue: String { text.utf8.isToken ? text : "\"\(text)\"" }

    /// The text before each part except the first.
    var delimiter: String { "\r\n\(opening)" }

    /// The text before the first part.
    var opening: String { "--\(text)\r\n" }

    /// The text after the last part, or the entire text if there are no parts.
    func closing(hasParts: Bool) -> String { "\(hasParts ? "\r\n" : "")--\(text)--\r\n" }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        FieldSyntax.isAlphanumeric(byte) || "'()+_,-./:=? ".utf8.contains(byte)
    }
}

/// Searches bytes that arrive in pieces for a boundary, across the ends of pieces.
///
/// The search finds the boundary wherever `--` precedes it. Some parsers accept LF instead of CR LF before a delimiter.
/// All parsers recognize the boundary at the start of a line, regardless of the text after it (RFC 2046 §5.1.1).
struct BoundarySearch: Sendable {
    private let pattern: [UInt8]
    /// The failure function of the Knuth–Morris–Pratt algorithm.
    ///
    /// For each number of matched bytes, the function is the length of the longest proper prefix of the match that is
    /// also its suffix.
    private let borders: [Int]
    private var matched = 0

    init(boundary: String) {
        pattern = Array("--\(boundary)".utf8)
        borders = Self.borders(of: pattern)
    }

    /// Starts again, for other bytes.
    mutating func restart() {
        matched = 0
    }

    /// Returns whether the bytes complete a boundary.
    mutating func finds(in bytes: Data) -> Bool {
        let bytes = bytes.span
        for index in bytes.indices {
            while matched > 0, pattern[matched] != bytes[index] { matched = borders[matched - 1] }
            if pattern[matched] == bytes[index] { matched += 1 }
            guard matched < pattern.count else { return true }
        }
        return false
    }

    private static func borders(of pattern: [UInt8]) -> [Int] {
        var borders = [0]
        for index in pattern.indices.dropFirst() {
            var length = borders[index - 1]
            while length > 0, pattern[length] != pattern[index] { length = borders[length - 1] }
            borders.append(pattern[length] == pattern[index] ? length + 1 : 0)
        }
        return borders
    }
}
