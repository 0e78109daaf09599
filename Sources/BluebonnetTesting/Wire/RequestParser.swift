import Bluebonnet

/// Parses the bytes of a connection to requests (RFC 9112) as the bytes arrive.
///
/// The parser is a value type without I/O. Its owner appends bytes, and then reads events until the parser needs more
/// bytes. The parser is strict, because it also tests the client: it refuses malformed requests. After a failure, it
/// returns only this failure.
struct RequestParser {
    /// The next part of the input.
    enum Event: Equatable {
        /// The event is not complete yet; append more bytes.
        case needsBytes
        case head(RequestHead)
        /// A piece of the body, without its framing.
        case body(ArraySlice<UInt8>)
        /// The request is complete; a chunked body can have trailers.
        case end(trailers: HTTPHeaders)
        case failed(Failure)
    }

    /// The reason why a request is refused, and the status code of the response.
    struct Failure: Error, Equatable {
        let status: Int
        let reason: String

        static func malformed(_ reason: String) -> Failure { Failure(status: 400, reason: reason) }
    }

    private enum Phase {
        case head
        case body(left: Int, isChunk: Bool)
        case chunkSize
        case chunkEnd
        case trailers
        case end(HTTPHeaders)
        case failed(Failure)
    }

    private let maximumHeadBytes: Int
    private let maximumBodyBytes: Int

    private var phase = Phase.head
    private var buffer: [UInt8] = []
    /// The index of the first byte that was not consumed.
    private var position = 0
    /// The index at which the search for the next line feed continues.
    private var searched = 0
    /// The index at which the current line begins.
    private var lineStart = 0
    /// The lines of the current head or trailer section, without line endings.
    private var lines: [Range<Int>] = []
    private var bodyBytes = 0

    init(maximumHeadBytes: Int = 64 * 1024, maximumBodyBytes: Int = .max) {
        self.maximumHeadBytes = maximumHeadBytes
        self.maximumBodyBytes = maximumBodyBytes
    }

    /// The number of bytes that were not consumed.
    var bufferedCount: Int { buffer.count - position }

    mutating func append(_ bytes: ArraySlice<UInt8>) {
        discardUsedBytes()
        buffer.append(contentsOf: bytes)
    }

    /// Consumes up to `count` bytes without parsing them.
    mutating func takeRawBytes(_ count: Int) -> ArraySlice<UInt8> {
        let taken = buffer[position..<position + min(bufferedCount, max(0, count))]
        advance(to: taken.endIndex)
        lines.removeAll(keepingCapacity: true)
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
            case .body(left: 0, let isChunk):
                phase = isChunk ? .chunkEnd : .end([:])
            case .body(let left, let isChunk):
                guard bufferedCount > 0 else { return .needsBytes }
                let piece = takeRawBytes(left)
                phase = .body(left: left - piece.count, isChunk: isChunk)
                return .body(piece)
            case .chunkSize:
                guard let line = try takeLine(limit: 4096) else { return .needsBytes }
                try beginChunk(Self.chunkSize(of: buffer[line]))
            case .chunkEnd:
                guard bufferedCount >= 2 else { return .needsBytes }
                guard buffer[position] == .carriageReturn, buffer[position + 1] == .lineFeed else {
                    throw .malformed("a chunk is longer than it says")
                }
                advance(to: position + 2)
                phase = .chunkSize
            case .trailers:
                guard try collectLines() else { return .needsBytes }
                let trailers = HTTPHeaders(try HeadParser.fieldList(lines[...], of: buffer))
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
            phase = .body(left: length, isChunk: false)
        }
        return head
    }

    private mutating func beginChunk(_ size: Int) throws(Failure) {
        guard size <= maximumBodyBytes - bodyBytes else { throw bodyTooLong }
        bodyBytes += size
        phase = size == 0 ? .trailers : .body(left: size, isChunk: true)
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

    /// Collects lines up to an empty line; returns `true` if the empty line was found.
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

    /// Consumes a line, and returns the line without its ending.
    private mutating func takeLine(limit: Int) throws(Failure) -> Range<Int>? {
        guard let line = try findLine() else {
            guard bufferedCount <= limit else { throw .malformed("a line is longer than \(limit) bytes") }
            return nil
        }
        advance(to: searched)
        return line
    }

    /// Searches for the end of the current line.
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

    /// Parses a chunk size; extensions are ignored (RFC 9112 §7.1).
    private static func chunkSize(of line: ArraySlice<UInt8>) throws(Failure) -> Int {
        let digits = line.prefix { PercentEncoding.digit($0) != nil }
        let isEnded = digits.count == line.count || line[digits.endIndex] == .semicolon
        guard !digits.isEmpty, isEnded || FieldSyntax.isWhitespace(line[digits.endIndex]) else {
            throw .malformed("a chunk size is not a number")
        }
        guard digits.count <= 15 else { throw .malformed("a chunk size is too large") }
        return digits.reduce(0) { $0 * 16 + Int(PercentEncoding.digit($1) ?? 0) }
    }
}

/// Parses the lines of a request head.
enum HeadParser {
    typealias Failure = RequestParser.Failure

    static func head(_ lines: [Range<Int>], of buffer: [UInt8]) throws(Failure) -> RequestHead {
        guard let first = lines.first else { throw .malformed("the request line is empty") }
        let (method, target, version) = try requestLine(buffer[first])
        let fields = try fieldList(lines[1...], of: buffer)
        var head = RequestHead(
            method: method, target: target, version: version, headers: HTTPHeaders(fields),
            keepsAlive: version != .http1_0)
        try applyFraming(fields, to: &head)
        return head
    }

    private static func requestLine(_ line: ArraySlice<UInt8>) throws(Failure) -> (HTTPMethod, String, HTTPVersion) {
        guard let first = line.firstIndex(of: .space), let last = line.lastIndex(of: .space), first < last else {
            throw .malformed("the request line has not three parts")
        }
        let method = line[..<first]
        let target = line[(first + 1)..<last]
        guard !method.isEmpty, method.allSatisfy(FieldSyntax.isTokenByte) else {
            throw .malformed("the method is not a token")
        }
        guard !target.isEmpty, target.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .malformed("the target has characters that are not allowed")
        }
        let version: HTTPVersion
        switch String(decoding: line[(last + 1)...], as: UTF8.self) {
        case "HTTP/1.1": version = .http1_1
        case "HTTP/1.0": version = .http1_0
        case let text where text.hasPrefix("HTTP/"): throw Failure(status: 505, reason: "\(text) is not spoken here")
        default: throw .malformed("the request line does not end with a version")
        }
        return (
            HTTPMethod(rawValue: String(decoding: method, as: UTF8.self)), String(decoding: target, as: UTF8.self),
            version
        )
    }

    /// Parses the fields of a head or of a trailer section.
    static func fieldList(
        _ lines: ArraySlice<Range<Int>>, of buffer: [UInt8]
    ) throws(Failure) -> [HTTPHeader] {
        var fields: [HTTPHeader] = []
        fields.reserveCapacity(lines.count)
        for range in lines {
            let line = buffer[range]
            guard let colon = line.firstIndex(of: .colon) else { throw .malformed("a field has no colon") }
            let name = line[..<colon]
            guard !name.isEmpty, name.allSatisfy(FieldSyntax.isTokenByte) else {
                throw .malformed("a field's name is not a token")
            }
            let value = line[(colon + 1)...]
            guard value.allSatisfy(\.isFieldCharacter) else {
                throw .malformed("a field's value has characters that are not allowed")
            }
            fields.append(HTTPHeader(name: String(decoding: name, as: UTF8.self), value: FieldLine.text(value)))
        }
        return fields
    }

    // MARK: The framing and the connection

    private static func applyFraming(_ fields: [HTTPHeader], to head: inout RequestHead) throws(Failure) {
        var hosts = 0
        var length: Int?
        var codings: [String] = []
        for field in fields {
            switch field.name.utf8.count {
            case 4 where field.name.isSameIgnoringCase(as: "host"):
                hosts += 1
            case 6 where field.name.isSameIgnoringCase(as: "expect"):
                guard field.value.isSameIgnoringCase(as: "100-continue") else {
                    throw Failure(status: 417, reason: "only 100-continue can be expected")
                }
                head.expectsContinue = head.version != .http1_0
            case 10 where field.name.isSameIgnoringCase(as: "connection"):
                let options = list(field.value)
                if options.contains("close") {
                    head.keepsAlive = false
                } else if options.contains("keep-alive") {
                    head.keepsAlive = true
                }
            case 14 where field.name.isSameIgnoringCase(as: "content-length"):
                let value = try contentLength(field.value)
                guard length == nil || length == value else { throw .malformed("there are two content lengths") }
                length = value
            case 17 where field.name.isSameIgnoringCase(as: "transfer-encoding"):
                codings += list(field.value)
            default: break
            }
        }
        guard hosts == 1 || hosts == 0 && head.version == .http1_0 else {
            throw .malformed(hosts == 0 ? "the Host field is missing" : "there is more than one Host field")
        }
        head.framing = try framing(length: length, codings: codings, version: head.version)
    }

    private static func framing(
        length: Int?, codings: [String], version: HTTPVersion
    ) throws(Failure) -> RequestHead.Framing {
        guard !codings.isEmpty else {
            guard let length, length > 0 else { return .none }
            return .length(length)
        }
        guard version != .http1_0 else { throw .malformed("HTTP/1.0 has no transfer codings") }
        guard length == nil else { throw .malformed("there are both a content length and a transfer coding") }
        guard codings == ["chunked"] else {
            throw Failure(status: 501, reason: "no other transfer coding than chunked is known here")
        }
        return .chunked
    }

    private static func contentLength(_ text: String) throws(Failure) -> Int {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let length = Int(text) else {
            throw .malformed("the content length is not a number")
        }
        return length
    }

    /// Returns the members of a list (RFC 9110 §5.6.1) in lower case.
    private static func list(_ value: String) -> [String] {
        value.lowercased().split(separator: ",").compactMap { member in
            member.split(whereSeparator: { $0 == " " || $0 == "\t" }).first.map(String.init)
        }
    }
}

/// The received head of a request, with its framing and connection options.
struct RequestHead: Equatable, Sendable {
    /// The framing of the body (RFC 9112 §6.3).
    enum Framing: Equatable, Sendable {
        case none
        case length(Int)
        case chunked
    }

    var method: HTTPMethod
    var target: String
    var version: HTTPVersion
    var headers: HTTPHeaders
    var framing = Framing.none
    /// Whether the client allows reuse of the connection (RFC 9112 §9.3).
    var keepsAlive: Bool
    /// Whether the client waits for 100 (Continue) before it sends the body (RFC 9110 §10.1.1).
    var expectsContinue = false
}

/// The parsed request target, in any form of RFC 9112 §3.2.
struct RequestTarget: Equatable {
    /// The percent-encoded path; `*` or `host:port` if the target has no path.
    var path: String
    /// The percent-encoded query without the question mark.
    var query: String?

    init(_ target: String) {
        let bytes = target.utf8
        var start = bytes.startIndex
        if bytes.first != UInt8(ascii: "/"), let afterScheme = Self.authority(in: bytes) {
            // This is the absolute form, which clients send to proxies.
            let isEnd = { (byte: UInt8) in byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") }
            start = bytes[afterScheme...].firstIndex(where: isEnd) ?? bytes.endIndex
        }
        let rest = target[start...]
        guard let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) else {
            path = rest.isEmpty ? "/" : String(rest)
            return
        }
        path = mark == start ? "/" : String(rest[..<mark])
        query = String(rest[rest.utf8.index(after: mark)...])
    }

    /// Returns the index of the authority, after `://`.
    private static func authority(in bytes: String.UTF8View) -> String.Index? {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return nil
        }
        return bytes.index(colon, offsetBy: 3)
    }
}

/// The characters of HTTP's grammar as bytes.
extension UInt8 {
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let space = UInt8(ascii: " ")
    static let colon = UInt8(ascii: ":")
    static let semicolon = UInt8(ascii: ";")

    /// Whether the byte is allowed in a field value (RFC 9110 §5.5), which includes bytes beyond ASCII.
    fileprivate var isFieldCharacter: Bool { self >= 0x20 && self != 0x7F || self == 0x09 }
}
