import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Synchronization

/// A sequence whose pieces are made on demand, and that records how it is used.
///
/// Byte i of all of them together is i % 251.
struct Pieces: AsyncSequence, Sendable {
    /// The end of the sequence after the last piece.
    enum End: Sendable {
        case finish
        case fail
        /// Nothing, until the task is cancelled.
        case silence
    }

    /// The thread-safe record of the use of a sequence.
    final class Record: Sendable {
        let hasBegun = Gate()
        /// Opened when all pieces were returned and another piece is requested.
        let isAtEnd = Gate()
        /// Opened when the sequence is no longer read.
        let isOver = Gate()
        private let counts = Locked((begun: 0, over: 0, pieces: 0))

        var begun: Int { counts.withLock { $0.begun } }
        var over: Int { counts.withLock { $0.over } }
        var pieces: Int { counts.withLock { $0.pieces } }

        fileprivate func began() {
            counts.withLock { $0.begun += 1 }
            hasBegun.open()
        }

        fileprivate func yielded() { counts.withLock { $0.pieces += 1 } }

        fileprivate func ended() {
            counts.withLock { $0.over += 1 }
            isOver.open()
        }
    }

    let count: Int
    let size: Int
    var end = End.finish
    /// Awaited before each piece, with the piece's number.
    var before: @Sendable (Int) async -> Void = { _ in }
    let record = Record()

    init(
        _ count: Int, of size: Int, then end: End = .finish, before: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.count = count
        self.size = size
        self.end = end
        self.before = before
    }

    /// How many bytes all pieces have.
    var length: Int64 { Int64(count) * Int64(size) }

    /// Creates bytes of the pattern that begins with 0.
    static func bytes(_ count: Int) -> Data {
        var bytes = Data(0..<251)
        bytes.reserveCapacity(2 * count + 251)
        while bytes.count < count { bytes += bytes }
        return Data(bytes.prefix(count))
    }

    func makeAsyncIterator() -> Iterator { Iterator(pieces: self) }

    struct Iterator: AsyncIteratorProtocol {
        private final class DeinitToken: Sendable {
            let record: Record

            init(_ record: Record) {
                self.record = record
                record.began()
            }

            deinit { record.ended() }
        }

        private let pieces: Pieces
        private let pattern: Data
        private let life: DeinitToken
        private var number = 0

        fileprivate init(pieces: Pieces) {
            self.pieces = pieces
            pattern = Pieces.bytes(pieces.size + 251)
            life = DeinitToken(pieces.record)
        }

        mutating func next() async throws -> Data? { try await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
            guard number < pieces.count else {
                pieces.record.isAtEnd.open()
                switch pieces.end {
                case .finish: return nil
                case .fail: throw TestFailure("the source broke")
                case .silence:
                    await Gate().wait()
                    throw CancellationError()
                }
            }
            await pieces.before(number)
            let start = number * pieces.size % 251
            number += 1
            pieces.record.yielded()
            return pattern[start..<start + pieces.size]
        }
    }
}
