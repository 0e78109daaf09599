import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The shared functions of the tests of streamed responses.
enum StreamFixture {
    /// A whole number of patterns, 251 bytes long each.
    private static let patterns = Data((0..<251 * 2048).map { UInt8($0 % 251) })
    /// The size of the pieces that are sent, and compared.
    private static let pieceSize = 251 * 256

    /// Bytes of which byte i is i % 251, so that each has its place; no more than some 500,000.
    static func pattern(_ range: Range<Int>) -> Data {
        let start = range.lowerBound % 251
        return patterns[start..<start + range.count]
    }

    /// Whether the bytes have their places in the pattern, the first one at the offset.
    static func isRight(_ piece: Data, at offset: Int) -> Bool {
        var rest = piece[...]
        var offset = offset
        // Large pieces are compared, because a check of each byte is slow in a debug build.
        while !rest.isEmpty {
            let part = rest.prefix(pieceSize)
            guard part == pattern(offset..<offset + part.count) else { return false }
            rest = rest.dropFirst(part.count)
            offset += part.count
        }
        return true
    }

    /// A response with the pattern as its body, sent as fast as the client reads; endless without a length.
    static func patterned(length: Int? = nil, status: Int = 200) -> LocalServer.Response {
        let size = pieceSize
        let piece = pattern(0..<size)
        return .stream(status: status, length: length) { writer in
            var sent = 0
            while length.map({ sent < $0 }) ?? true {
                try Task.checkCancellation()
                let count = min(size, (length ?? .max) - sent)
                try await writer.write(count == size ? piece : piece.prefix(count))
                sent += count
            }
        }
    }

    /// The result of reading a sequence to its end.
    struct SequenceResult<Element: Sendable>: Sendable {
        var elements: [Element] = []
        var error: RequestError?
    }

    /// Reads a sequence to its end.
    static func read<Sequence: AsyncSequence & Sendable>(
        _ sequence: Sequence
    ) async -> SequenceResult<Sequence.Element> where Sequence.Failure == RequestError {
        var reading = SequenceResult<Sequence.Element>()
        do throws(RequestError) {
            for try await element in sequence { reading.elements.append(element) }
        } catch {
            reading.error = error
        }
        return reading
    }

    /// Reads the pieces of a body to its end.
    static func body(_ bytes: DataStreamTask.Bytes) async -> (data: Data, error: RequestError?) {
        let reading = await read(bytes)
        return (reading.elements.reduce(into: Data()) { $0 += $1 }, reading.error)
    }

    /// Reads from an iterator until there are so many bytes of the pattern more; returns where that is.
    static func readPattern(
        _ iterator: inout DataStreamTask.Bytes.Iterator, from start: Int, count: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Int {
        var offset = start
        while offset - start < count {
            let piece = try #require(try await iterator.next(), sourceLocation: sourceLocation)
            guard isRight(piece, at: offset) else {
                Issue.record("a byte after \(offset) is out of place", sourceLocation: sourceLocation)
                return offset
            }
            offset += piece.count
        }
        return offset
    }

    /// The number of bytes that a server may have sent although no reader takes them: those in the two sockets, whose
    /// buffers grow up to the system's limits, and those in Bluebonnet's and the server's own buffers.
    static func bytesUnderway() throws -> Int {
        let limits = try ["tcp_rmem", "tcp_wmem"].map { name in
            let text = try String(contentsOfFile: "/proc/sys/net/ipv4/\(name)", encoding: .utf8)
            return try #require(text.split { $0 == "\t" || $0 == "\n" }.last.flatMap { Int($0) })
        }
        return limits.reduce(4 << 20, +)
    }

    /// Waits until a number does not change during many turns of the session and its loop; returns the number.
    static func settled(_ session: Session, _ number: () -> Int) async throws -> Int {
        let other = try await LocalServer { $0.get("/turn", .text("turn")) }
        var (last, steadyRounds) = (-1, 0)
        while steadyRounds < 10 {
            for _ in 1...5 {
                let answer = await session.request(other.url("/turn")).serializingString().response
                #expect(answer.value == "turn", "\(answer)")
            }
            let now = number()
            steadyRounds = now == last ? steadyRounds + 1 : 0
            last = now
        }
        await other.stop()
        return last
    }
}

/// Lets a server send on when what it has sent was received, so that the client gets it in the very same pieces.
final class Pace: Sendable {
    private let request = Locked<DataStreamRequest?>(nil)

    /// Sets the request whose progress is used; must be called before the request starts.
    func follow(_ request: DataStreamRequest) { self.request.withLock { $0 = request } }

    /// Returns when so many bytes of the body were received, or there will be no more.
    func received(_ count: Int) async {
        guard let request = request.withLock({ $0 }) else { return }
        for await progress in request.downloadProgressUpdates(bufferingPolicy: .unbounded)
        where progress.completed >= Int64(count) {
            return
        }
    }

    /// A response whose body is sent byte by byte.
    func dripping(_ text: String, contentType: String = "text/plain") -> LocalServer.Response {
        let bytes = Array(text.utf8)
        return .stream(headers: HTTPHeaders([HTTPHeader(name: "Content-Type", value: contentType)])) { [self] writer in
            for (index, byte) in bytes.enumerated() {
                try await writer.write([byte])
                await received(index + 1)
            }
        }
    }
}
