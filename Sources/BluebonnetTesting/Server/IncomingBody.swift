import FoundationEssentials
import Synchronization

/// The received part of a body that a route reads in pieces; a value type without I/O.
struct IncomingBody {
    /// The result of a read: bytes, `nil` at the end of the body, or a failure.
    typealias ReadResult = Result<Data?, LocalServer.Failure>

    enum Phase: Equatable {
        case receiving
        case complete
        case failed(LocalServer.Failure)
    }

    /// The numbers of bytes that were received and that the route has read.
    struct Counts: Sendable {
        let received = ByteCount()
        let read = ByteCount()
    }

    private(set) var phase = Phase.receiving
    /// Whether the response is complete, so that further bytes are dropped.
    private var isAnswered = false
    /// Whether the client may be waiting for 100 (Continue) and has not sent any part of the body.
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

    /// Whether more bytes may arrive.
    var isOpen: Bool { phase == .receiving }

    /// Whether there is room for more bytes.
    var hasRoom: Bool { isOpen && bytes.count < window }

    /// Whether no other request can follow on the connection.
    var isLast: Bool {
        if case .failed = phase { return true }
        return awaitsContinue
    }

    // MARK: Events

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

    /// Records that no more bytes will arrive.
    ///
    /// Received bytes can still be read.
    mutating func failed(_ failure: LocalServer.Failure) {
        if isOpen { phase = .failed(failure) }
    }

    /// Records that the response is complete.
    ///
    /// The route can no longer read the body.
    mutating func answered() {
        bytes = Data()
        isAnswered = true
    }

    // MARK: Reading

    /// Returns all available bytes; `nil` if the reader must wait.
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

    /// Returns the request to record when no more bytes will arrive; `nil` if the request was already returned.
    mutating func takeRecord() -> LocalServer.Request? {
        guard !isRecorded else { return nil }
        isRecorded = true
        request.bodyIsComplete = phase == .complete
        defer { request.body = Data() }
        return request
    }
}

/// Counts bytes on the event loop.
///
/// The count can be read on any thread.
final class ByteCount: Sendable {
    private let bytes = Atomic<Int>(0)

    var value: Int { bytes.load(ordering: .relaxed) }

    func add(_ count: Int) {
        bytes.add(count, ordering: .relaxed)
    }
}
