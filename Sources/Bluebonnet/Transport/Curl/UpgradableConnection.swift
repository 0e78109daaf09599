import FoundationEssentials

/// A connection on which Bluebonnet itself speaks HTTP/1.1, to ask the server for another protocol (RFC 9110 §7.8).
///
/// Libcurl opens the connection, with TLS, proxies and the checks of the server, and moves bytes. An instance belongs
/// to the engine and never leaves the loop's thread.
// Safety: only the loop's thread uses the unchecked properties; see ``Transfer``.
final class UpgradableConnection {
    /// The idle limit after the upgrade; `nil` for no limit.
    let idleTimeout: Duration?
    /// The socket, once libcurl has opened the connection.
    var socket: Int32?
    var isOpen: Bool { socket != nil }
    /// The value of the `Authorization` field that answers the server's challenge; `nil` before the challenge.
    var authorization: String?

    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var framing = ResponseFraming()
    /// The number of bytes of all heads so far, of which there may be many.
    var headBytes = 0
    /// The received bytes that the transfer does not take yet.
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var unread = Data()
    /// The received bytes that are passed to the receiver at the end of the turn, and their number.
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var pieces = TinyArray<Data>()
    var pieceBytes = 0
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var output = UpgradeOutput()
    /// Whether the peer no longer takes bytes.
    ///
    /// The bytes that it has sent are still read.
    var isOutputClosed = false
    /// Whether the connection is listed because of new bytes to send.
    var isListed = false
    /// Whether the connection waits for the next turn of the loop.
    var isWaiting = false
    /// The number of bytes of the request's head that are not sent yet.
    private var unsentHead = 0
    private(set) var sentBytes: Int64 = 0
    var receivedBytes: Int64 = 0

    init(idleTimeout: Duration?) { self.idleTimeout = idleTimeout }

    /// Begins with the head of the request on a new connection.
    func opened(_ socket: Int32, sending head: Data) {
        self.socket = socket
        unsentHead = head.count
        output.begin(with: head)
    }

    /// Forgets the connection, because it has ended, or because the request is sent again on a new one.
    func reset() {
        (socket, framing, headBytes, unread, isOutputClosed) = (nil, ResponseFraming(), 0, Data(), false)
        output = UpgradeOutput()
    }

    /// Counts sent bytes; returns how many of them belong to the upgraded protocol.
    func sent(_ count: Int) -> Int {
        sentBytes += Int64(count)
        let ofHead = min(unsentHead, count)
        unsentHead -= ofHead
        return count - ofHead
    }
}

/// The bytes that wait to be sent on a connection.
// Safety: the memory of a chunk is used only within the call of the closure.
struct UpgradeOutput {
    private var chunks: [Data] = []
    /// The number of bytes of the first chunk that were sent.
    private var offset = 0
    /// Whether the first chunk was refused, so that exactly the same bytes must be offered again.
    private(set) var isRefused = false

    /// The size up to which small pieces are joined, so that they are sent with one call.
    private static let joinedSize = 16 * 1024

    var isEmpty: Bool { chunks.isEmpty }

    /// Puts the head of a request before all other bytes.
    mutating func begin(with head: Data) { chunks.insert(head, at: 0) }

    mutating func append(_ bytes: Data) {
        let last = chunks.count - 1
        let mayJoin = last > 0 || (last == 0 && !isRefused && offset == 0)
        if mayJoin, chunks[last].count + bytes.count <= Self.joinedSize { return chunks[last].append(bytes) }
        guard bytes.count < 16 else { return chunks.append(bytes) }
        // Short data is stored in the value itself, whose address changes. With TLS, the address must stay the same.
        var chunk = Data(capacity: 256)
        chunk.append(bytes)
        chunks.append(chunk)
    }

    /// Offers bytes to a closure until it refuses some or fails; returns whether it may be called again later.
    ///
    /// The closure returns the number of bytes that it has taken, 0 if it takes none at this time, or `nil` if it
    /// failed.
    mutating func send(_ take: (UnsafeRawBufferPointer) -> Int?) -> Bool {
        while let first = chunks.first {
            let start = offset
            let taken = unsafe first.withUnsafeBytes { unsafe take(UnsafeRawBufferPointer(rebasing: $0[start...])) }
            guard let taken else { return false }
            isRefused = taken == 0
            guard taken > 0 else { return true }
            offset += taken
            guard offset == first.count else { continue }
            offset = 0
            chunks.removeFirst()
        }
        return true
    }
}

/// Finds the parts of a response in the bytes of a connection (RFC 9112 §6.3).
///
/// This is a value type without I/O.
struct ResponseFraming: Equatable {
    /// A part of the bytes, which begins with the first byte that was not consumed.
    enum Part: Equatable {
        /// Bytes of a head; whether they end the head.
        case head(Int, isEnd: Bool)
        case body(Int)
        /// Bytes that belong to no part.
        case skipped(Int)
        /// The response is complete.
        case end
        case malformed
    }

    private enum State: Equatable {
        case head
        /// The head is complete, and ``headEnded(_:)`` must be called.
        case undecided
        case untilClose
        case length(Int64)
        case chunkSize(Int64, digits: Int)
        case chunkExtension(Int64)
        case chunk(Int64)
        case chunkEnd
        case trailers(lineLength: Int)
        case end
    }

    private var state = State.head
    /// The length of the current line of a head without its end.
    private(set) var lineLength = 0

    /// Whether all bytes belong to the body or to the upgraded protocol.
    ///
    /// Two spans of the bytes, which would not be used, take 370 instructions.
    var passesAll: Bool { if case .untilClose = state { true } else { false } }

    /// Whether the response may end when the connection is closed.
    var mayEnd: Bool { state == .untilClose || state == .end }

    /// Returns the first part of bytes, which must not be empty.
    func part(of bytes: Span<UInt8>) -> Part {
        switch state {
        case .head: headPart(of: bytes)
        case .undecided, .end, .length(0): .end
        case .untilClose: .body(bytes.count)
        case .length(let rest), .chunk(let rest): .body(Int(min(rest, Int64(bytes.count))))
        case .chunkSize(_, let digits):
            Self.isHexDigit(bytes[0]) ? (digits < 15 ? .skipped(1) : .malformed) : digits > 0 ? .skipped(1) : .malformed
        case .chunkExtension, .trailers: .skipped(1)
        case .chunkEnd: bytes[0] == 0x0d || bytes[0] == 0x0a ? .skipped(1) : .malformed
        }
    }

    private func headPart(of bytes: Span<UInt8>) -> Part {
        var length = lineLength
        for index in bytes.indices {
            switch bytes[index] {
            case 0x0a where length == 0: return .head(index + 1, isEnd: true)
            case 0x0a: length = 0
            case 0x0d: break
            default: length += 1
            }
        }
        return .head(bytes.count, isEnd: false)
    }

    /// Called when the transfer has taken a part of bytes.
    mutating func consumed(_ part: Part, of bytes: Span<UInt8>) {
        switch (part, state) {
        case (.head(let count, let isEnd), _):
            state = isEnd ? .undecided : .head
            for index in 0..<count {
                if bytes[index] == 0x0a { lineLength = 0 } else if bytes[index] != 0x0d { lineLength += 1 }
            }
        case (.body(let count), .length(let rest)):
            state = rest == Int64(count) ? .end : .length(rest - Int64(count))
        case (.body(let count), .chunk(let rest)):
            state = rest == Int64(count) ? .chunkEnd : .chunk(rest - Int64(count))
        case (.skipped, _): skipped(bytes[0])
        default: break
        }
    }

    /// Handles a byte of a chunk's size or end, or of the trailers, which are ignored (RFC 9112 §7.1).
    private mutating func skipped(_ byte: UInt8) {
        switch state {
        case .chunkSize(let size, let digits) where Self.isHexDigit(byte):
            let digit = byte < 0x3a ? byte - 0x30 : (byte | 0x20) - 0x57
            state = .chunkSize(size << 4 | Int64(digit), digits: digits + 1)
        case .chunkSize(let size, _), .chunkExtension(let size):
            guard byte == 0x0a else { return state = .chunkExtension(size) }
            state = size == 0 ? .trailers(lineLength: 0) : .chunk(size)
        case .chunkEnd: if byte == 0x0a { state = .chunkSize(0, digits: 0) }
        case .trailers(let length):
            guard byte == 0x0a else { return state = .trailers(lineLength: byte == 0x0d ? length : length + 1) }
            state = length == 0 ? .end : .trailers(lineLength: 0)
        default: break
        }
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 6 }

    /// Called when a head is complete; `nil` stands for an informational head.
    mutating func headEnded(_ head: ReceivedHead?) {
        guard let head else { return state = .head }
        switch head.statusCode {
        case 101: state = .untilClose
        case 204, 304: state = .end
        default:
            if let coding = head.value(for: "Transfer-Encoding") {
                let isChunked = coding.lowercased().hasSuffix("chunked")
                state = isChunked ? .chunkSize(0, digits: 0) : .untilClose
            } else {
                state = head.statedLength.map { $0 == 0 ? .end : .length($0) } ?? .untilClose
            }
        }
    }

    /// Whether the response is complete.
    var isComplete: Bool { state == .end }
}
