import FoundationEssentials

/// Produces the bytes of a form, part after part; of what the parts come from, one is open at a time.
///
/// Runs where it is called: on the global pool. When a part is not what it was announced to be, the reader throws before
/// the delimiter after that part, so that no server takes what it got for the whole form.
struct MultipartReader: BodyReader {
    private let boundary: MultipartBoundary
    private let parts: [PreparedMultipartPart]
    private var position = 0
    private var content: MultipartContentReader?
    private var search: BoundarySearch?
    private var output = PieceBuffer()
    private var hasBegun = false
    private var isClosed = false

    /// Begins a form; the boundary is looked for in the parts when it could be there.
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
                // Bytes that are there must not wait for a sequence that may take long.
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

    /// Claims all parts that can be read only once, so that no form is sent up to a part that another reader has read.
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
        // Dropped while it is asked: when it fails, its file is closed at once, even if the reader is retained.
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

/// Reads the content of a part and ensures that it has as many bytes as announced.
private struct MultipartContentReader {
    let part: PreparedMultipartPart
    private var reader: any BodyReader
    private var count: Int64 = 0

    init(_ part: PreparedMultipartPart) throws(RequestError) {
        self.part = part
        reader = try part.makeReader()
        // The file may be another than when its length was looked up.
        if let file = reader as? FileReader, let expected = part.length, file.length != expected {
            throw part.lengthMismatch(expected: expected, actual: file.length)
        }
    }

    /// Returns the next bytes, or `nil` at the end; never more than were announced.
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

/// Joins small pieces to larger ones and leaves large ones as they are, in order.
///
/// A piece is appended only after ``takeReady()`` has returned `nil`.
struct PieceBuffer: Sendable {
    /// A piece of this many bytes is not copied.
    static let largePiece = 16 * 1024
    /// Joined pieces that have this many bytes together are handed out.
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

    /// Returns the next piece if it need not wait for more bytes.
    mutating func takeReady() -> Data? {
        if small.count >= Self.fullPiece || large != nil && !small.isEmpty { return takeRest() }
        defer { large = nil }
        return large
    }

    /// Returns what has been joined so far; `nil` when that is nothing.
    mutating func takeRest() -> Data? {
        defer { small = Data() }
        return small.isEmpty ? nil : small
    }
}

/// Knows what may be the boundary of a multipart body, and how it is written (RFC 2046 §5.1.1).
struct MultipartBoundary {
    let text: String

    /// How many bytes a boundary has at most.
    static let lengthLimit = 70

    /// Whether this is one: 1 to 70 of the allowed characters, no space at the end.
    var isValid: Bool {
        let bytes = text.utf8
        return 1...Self.lengthLimit ~= bytes.count && bytes.allSatisfy(Self.isAllowed) && bytes.last != 0x20
    }

    /// The boundary as the value of a parameter: between quotes unless it is a token (RFC 9110 §5.6.6).
    ///
    /// A boundary holds nothing that would need a backslash.
    var parameterValue: String { text.utf8.isToken ? text : "\"\(text)\"" }

    /// What stands before each part but the first.
    var delimiter: String { "\r\n\(opening)" }

    /// What stands before the first part.
    var opening: String { "--\(text)\r\n" }

    /// What stands after the last part, or alone when there are none.
    func closing(hasParts: Bool) -> String { "\(hasParts ? "\r\n" : "")--\(text)--\r\n" }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        FieldSyntax.isAlphanumeric(byte) || "'()+_,-./:=? ".utf8.contains(byte)
    }
}

/// Looks for a boundary in bytes that come in pieces, across their borders.
///
/// The boundary counts wherever `--` stands before it: some parsers take LF for CR LF before a delimiter, and all take the
/// boundary at the start of a line for one, whatever follows it (RFC 2046 §5.1.1).
struct BoundarySearch: Sendable {
    private let pattern: [UInt8]
    /// How much of the pattern's beginning is also the end of what has matched, for each length of that (Knuth, Morris
    /// and Pratt).
    private let borders: [Int]
    private var matched = 0

    init(boundary: String) {
        pattern = Array("--\(boundary)".utf8)
        borders = Self.borders(of: pattern)
    }

    /// Begins again, for other bytes.
    mutating func restart() {
        matched = 0
    }

    /// Returns whether the boundary is in the bytes, or ends in them.
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
