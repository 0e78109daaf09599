import FoundationEssentials
import Synchronization

/// Holds the received part of a body that a route reads piece by piece; a value without I/O.
struct IncomingBody {
    /// The result of a read: bytes, `nil` at the end of the body, or why there are none.
    typealias ReadResult = Result<Data?, LocalServer.Failure>

    enum Phase: Equatable {
        case receiving
        case complete
        case failed(LocalServer.Failure)
    }

    /// Counts what has come, and what the route has got of it.
    struct Counts: Sendable {
        let received = ByteCount()
        let read = ByteCount()
    }

    private(set) var phase = Phase.receiving
    /// Whether the answer is complete, so that what still comes is dropped.
    private var isAnswered = false
    /// Whether the client may be waiting for a 100, and has sent none of the body.
    private(set) var awaitsContinue: Bool

    private var request: LocalServer.Request
    private var isRecorded = false
    private let counts: Counts
    private let window: Int
    private let recordedBytes: Int
    /// The received bytes that were not read yet.
    private var bytes = Data()

    init(
        of request: LocalServer.Request, awaitsContinue: Bool, options: LocalServer.Options, counts: Counts = Counts()
    ) {
        self.request = request
        self.awaitsContinue = awaitsContinue
        self.counts = counts
        window = max(1, options.bodyWindowBytes)
        recordedBytes = max(0, options.recordedBodyBytes)
    }

    /// Whether more of it may come.
    var isOpen: Bool { phase == .receiving }

    /// Whether more of it can be taken in now.
    var hasRoom: Bool { isOpen && bytes.count < window }

    /// Whether nothing can follow it on the connection.
    var isLast: Bool {
        if case .failed = phase { return true }
        return awaitsContinue
    }

    // MARK: What happened

    mutating func continueSent() {
        awaitsContinue = false
    }

    mutating func pieceReceived(_ piece: ArraySlice<UInt8>) {
        awaitsContinue = false
        counts.received.add(piece.count)
        request.bodyLength += piece.count
        let missing = recordedBytes - request.body.count
        if missing > 0 { request.body.append(contentsOf: piece.prefix(missing)) }
        if !isAnswered { bytes.append(contentsOf: piece) }
    }

    mutating func completed() {
        awaitsContinue = false
        if isOpen { phase = .complete }
    }

    /// Notes that nothing more will come; what has come can still be read.
    mutating func failed(_ failure: LocalServer.Failure) {
        if isOpen { phase = .failed(failure) }
    }

    /// Notes that the answer is complete, so that the route does not read any more.
    mutating func answered() {
        bytes = Data()
        isAnswered = true
    }

    // MARK: What to do

    /// Takes out all that can be read; `nil` if that has yet to come.
    mutating func read() -> ReadResult? {
        guard !isAnswered else { return .failure(.connectionClosed) }
        guard bytes.isEmpty else {
            defer { bytes = Data() }
            counts.read.add(bytes.count)
            return .success(bytes)
        }
        switch phase {
        case .receiving: return nil
        case .complete: return .success(nil)
        case .failed(let failure): return .failure(failure)
        }
    }

    /// The request to be recorded when nothing more will come; once.
    mutating func takeRecord() -> LocalServer.Request? {
        guard !isRecorded else { return nil }
        isRecorded = true
        request.bodyIsComplete = phase == .complete
        defer { request.body = Data() }
        return request
    }
}

/// Counts bytes on the loop, for everyone to see.
final class ByteCount: Sendable {
    private let bytes = Atomic<Int>(0)

    var value: Int { bytes.load(ordering: .relaxed) }

    func add(_ count: Int) {
        bytes.add(count, ordering: .relaxed)
    }
}
