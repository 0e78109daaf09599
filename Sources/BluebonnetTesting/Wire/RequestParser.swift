import Bluebonnet

/// Takes the bytes of a connection apart into requests (RFC 9112), as they come in.
///
/// A pure value: it is fed bytes and asked for the next event, until it needs more bytes. It is strict, since it also
/// judges the client: what the RFC calls malformed fails. After a failure it says nothing else any more.
struct RequestParser {
    /// What was found next.
    enum Event: Equatable {
        /// Nothing yet; more bytes have to be appended.
        case needsBytes
        case head(RequestHead)
        /// A piece of the body, without its framing.
        case body(ArraySlice<UInt8>)
        /// The request is complete; the fields came after a chunked body.
        case end(trailers: HTTPHeaders)
        case failed(Failure)
    }

    /// Why a request cannot be understood: the status to answer with, and a reason.
    struct Failure: Error, Equatable {
        let status: Int
        let reason: String

        static func malformed(_ reason: String) -> Failure { Failure(status: 400, reason: reason) }
    }

    private enum Phase {
        case head
        case body(left: Int)
        case chunkSize
        case chunk(left: Int)
        case chunkEnd
        case trailers
        case end(HTTPHeaders)
        case failed(Failure)
    }

    private let maximumHeadBytes: Int
    private let maximumBodyBytes: Int

    private var phase = Phase.head
    private var buffer: [UInt8] = []
    /// Where the bytes begin that have not been used yet.
    private var position = 0
    /// Where the search for the next line feed goes on.
    private var searched = 0
    /// Where the current line begins.
    private var lineStart = 0
    /// The lines of the current head or trailer section, without their ends.
    private var lines: [Range<Int>] = []
    private var bodyBytes = 0

    init(maximumHeadBytes: Int = 64 * 1024, maximumBodyBytes: Int = .max) {
        self.maximumHeadBytes = maximumHeadBytes
        self.maximumBodyBytes = maximumBodyBytes
    }

    /// How many bytes wait to be used.
    var bufferedCount: Int { buffer.count - position }

    mutating func append(_ bytes: ArraySlice<UInt8>) {
        discardUsedBytes()
        buffer.append(contentsOf: bytes)
    }

    /// Takes up to `count` bytes out as they are, outside of any request.
    mutating func takeRawBytes(_ count: Int) -> ArraySlice<UInt8> {
        let taken = buffer[position..<position + min(bufferedCount, max(0, count))]
        advance(to: taken.endIndex)
        lines.removeAll()
        return taken
    }

    mutating func next() -> Event {
        do throws(Failure) {
            return try step()
        } catch {
            phase = .failed(error)
            return .failed(error)
        }
    }

    private mutating func step() throws(Failure) -> Event {
        while true {
            switch phase {
            case .head:
                skipEmptyLine()
                guard try collectLines() else { return .needsBytes }
                return .head(try finishHead())
            case .body(left: 0):
                phase = .end([:])
            case .body(let left):
                guard let piece = takePiece(left) else { return .needsBytes }
                phase = .body(left: left - piece.count)
                return .body(piece)
            case .chunkSize:
                guard let line = try takeLine(limit: 4096) else { return .needsBytes }
                try beginChunk(Self.chunkSize(of: buffer[line]))
            case .chunk(left: 0):
                phase = .chunkEnd
            case .chunk(let left):
                guard let piece = takePiece(left) else { return .needsBytes }
                phase = .chunk(left: left - piece.count)
                return .body(piece)
            case .chunkEnd:
                guard bufferedCount >= 2 else { return .needsBytes }
                guard buffer[position] == .carriageReturn, buffer[position + 1] == .lineFeed else {
                    throw .malformed("a chunk is longer than it says")
                }
                advance(to: position + 2)
                phase = .chunkSize
            case .trailers:
                guard try collectLines() else { return .needsBytes }
                let trailers = try HeadParser.fields(lines, of: buffer)
                lines.removeAll(keepingCapacity: true)
                phase = .end(trailers)
            case .end(let trailers):
                phase = .head
                return .end(trailers: trailers)
            case .failed(let failure):
                return .failed(failure)
            }
        }
    }

    private mutating func finishHead() throws(Failure) -> RequestHead {
        let head = try HeadParser.head(lines, of: buffer)
        lines.removeAll(keepingCapacity: true)
        bodyBytes = 0
        switch head.framing {
        case .none: phase = .end([:])
        case .chunked: phase = .chunkSize
        case .length(let length):
            guard length <= maximumBodyBytes else { throw bodyTooLong }
            phase = .body(left: length)
        }
        return head
    }

    private mutating func beginChunk(_ size: Int) throws(Failure) {
        guard size <= maximumBodyBytes - bodyBytes else { throw bodyTooLong }
        bodyBytes += size
        phase = size == 0 ? .trailers : .chunk(left: size)
    }

    private var bodyTooLong: Failure {
        Failure(status: 413, reason: "the body is longer than \(maximumBodyBytes) bytes")
    }

    private var headTooLong: Failure {
        lines.isEmpty
            ? Failure(status: 414, reason: "the request line is longer than \(maximumHeadBytes) bytes")
            : Failure(status: 431, reason: "the head is longer than \(maximumHeadBytes) bytes")
    }

    // MARK: Lines and pieces

    /// Skips an empty line before a request line (RFC 9112 §2.2).
    private mutating func skipEmptyLine() {
        guard lines.isEmpty, bufferedCount >= 2, buffer[position] == .carriageReturn,
            buffer[position + 1] == .lineFeed
        else { return }
        advance(to: position + 2)
    }

    /// Collects lines until an empty one; says whether that has been found.
    private mutating func collectLines() throws(Failure) -> Bool {
        while let line = try findLine() {
            guard searched - position <= maximumHeadBytes else { throw headTooLong }
            guard !line.isEmpty else {
                advance(to: searched)
                return true
            }
            lines.append(line)
        }
        guard bufferedCount <= maximumHeadBytes else { throw headTooLong }
        return false
    }

    /// Takes a single line out, without its end.
    private mutating func takeLine(limit: Int) throws(Failure) -> Range<Int>? {
        guard let line = try findLine() else {
            guard bufferedCount <= limit else { throw .malformed("a line is longer than \(limit) bytes") }
            return nil
        }
        advance(to: searched)
        return line
    }

    /// Goes on to the end of the current line.
    private mutating func findLine() throws(Failure) -> Range<Int>? {
        while searched < buffer.count {
            defer { searched += 1 }
            guard buffer[searched] == .lineFeed else { continue }
            guard searched > lineStart, buffer[searched - 1] == .carriageReturn else {
                throw .malformed("a line ends without a carriage return")
            }
            defer { lineStart = searched + 1 }
            return lineStart..<searched - 1
        }
        return nil
    }

    private mutating func takePiece(_ limit: Int) -> ArraySlice<UInt8>? {
        guard bufferedCount > 0 else { return nil }
        let piece = buffer[position..<position + min(limit, bufferedCount)]
        advance(to: piece.endIndex)
        return piece
    }

    private mutating func advance(to index: Int) {
        position = index
        searched = index
        lineStart = index
    }

    private mutating func discardUsedBytes() {
        guard position > 0, lines.isEmpty else { return }
        if position == buffer.count {
            buffer.removeAll(keepingCapacity: buffer.capacity <= 256 * 1024)
        } else {
            buffer.removeSubrange(..<position)
        }
        searched -= position
        lineStart -= position
        position = 0
    }

    /// Reads a chunk's size; extensions are ignored (RFC 9112 §7.1).
    private static func chunkSize(of line: ArraySlice<UInt8>) throws(Failure) -> Int {
        let digits = line.prefix { $0.hexadecimalDigit != nil }
        let isEnded = digits.count == line.count || line[digits.endIndex] == .semicolon
        guard !digits.isEmpty, isEnded || line[digits.endIndex].isWhitespace else {
            throw .malformed("a chunk size is not a number")
        }
        guard digits.count <= 15 else { throw .malformed("a chunk size is too large") }
        return digits.reduce(0) { $0 * 16 + ($1.hexadecimalDigit ?? 0) }
    }
}
