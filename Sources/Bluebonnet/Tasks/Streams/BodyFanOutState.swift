import FoundationEssentials

/// Decides what happens to the bytes of a streamed body between the transport and those who read them, as a value.
///
/// Each reader sees everything from when it joined. The slowest governs: when more than the high watermark waits for it,
/// the transport is told to pause, and once nobody has more than the low one waiting, to go on. What came in is never
/// lost: before there is a reader it waits for the first, and an end or a failure comes after the last byte.
struct BodyFanOutState {
    /// Names a reader.
    typealias ReaderID = UInt64

    /// What a reader gets.
    enum ReadAction: Equatable {
        /// Bytes; with `demandsMore`, the transport is to go on.
        case take(Data, demandsMore: Bool)
        case wait
        case end
        case fail(RequestError.Kind)

        var demandsMore: Bool { if case .take(_, demandsMore: true) = self { true } else { false } }
    }

    /// What follows from a reader's leaving.
    enum LeaveAction: Equatable {
        case nothing
        /// The transport is to go on: the others have room.
        case demandMore
        /// Nobody reads any more, and the request is to be cancelled.
        case cancel
    }

    private enum End {
        case complete
        case failed(RequestError)
    }

    private struct Reader {
        let id: ReaderID
        let cancelsRequest: Bool
        var queue = PieceQueue()
    }

    private var readers: [Reader] = []
    private var nextID: ReaderID = 0
    /// What came in before there was a reader.
    private var backlog = PieceQueue()
    private var hadReaders = false
    /// How many there are who may come to read.
    private var tasks = 0
    private var isPaused = false
    private var end: End?
    private let highWatermark: Int
    private let lowWatermark: Int

    init(highWatermark: Int, lowWatermark: Int) {
        self.highWatermark = max(1, highWatermark)
        self.lowWatermark = min(max(0, lowWatermark), self.highWatermark)
    }

    /// How many bytes wait for the slowest reader.
    var heldBytes: Int { readers.reduce(backlog.count) { max($0, $1.queue.count) } }

    /// What ended the body, if it failed.
    var failure: RequestError? { if case .failed(let error) = end { error } else { nil } }

    /// Bytes came in.
    mutating func received(_ bytes: Data) -> ReceiveAction {
        guard end == nil else { return .stop }
        guard !readers.isEmpty else {
            // Those who have left, and want the request to go on, have no use for the rest.
            guard !hadReaders else { return .goOn }
            backlog.append(bytes)
            isPaused = true
            return .pause
        }
        for index in readers.indices { readers[index].queue.append(bytes) }
        guard heldBytes >= highWatermark else { return .goOn }
        isPaused = true
        return .pause
    }

    /// Nothing more will come, for good or with an error; only the first such report counts.
    mutating func ended(with error: RequestError?) {
        guard end == nil else { return }
        end = error.map(End.failed) ?? .complete
    }

    /// Somebody may come to read.
    mutating func taskBegan() {
        tasks += 1
    }

    /// One who might have come to read will not; returns whether the request is to be cancelled, since nobody did.
    mutating func taskEnded() -> Bool {
        tasks -= 1
        return tasks == 0 && !hadReaders && end == nil
    }

    /// Somebody begins to read.
    mutating func joined(cancelsRequest: Bool) -> ReaderID {
        var reader = Reader(id: nextID, cancelsRequest: cancelsRequest)
        nextID += 1
        if !hadReaders {
            hadReaders = true
            swap(&reader.queue, &backlog)
        }
        readers.append(reader)
        return reader.id
    }

    /// A reader wants bytes.
    mutating func wanted(by id: ReaderID) -> ReadAction {
        guard let index = readers.firstIndex(where: { $0.id == id }) else { return .end }
        if let piece = readers[index].queue.popFirst() {
            return .take(piece, demandsMore: demandsMore())
        }
        switch end {
        case nil: return .wait
        case .complete: return .end
        case .failed(let error): return .fail(error.kind)
        }
    }

    /// Whether a reader would have to wait.
    func hasNothing(for id: ReaderID) -> Bool {
        guard end == nil, let reader = readers.first(where: { $0.id == id }) else { return false }
        return reader.queue.count == 0
    }

    /// A reader has no use for more.
    mutating func left(_ id: ReaderID) -> LeaveAction {
        guard let index = readers.firstIndex(where: { $0.id == id }) else { return .nothing }
        let reader = readers.remove(at: index)
        if readers.isEmpty, reader.cancelsRequest, end == nil { return .cancel }
        return demandsMore() ? .demandMore : .nothing
    }

    private mutating func demandsMore() -> Bool {
        guard isPaused, end == nil, heldBytes <= lowWatermark else { return false }
        isPaused = false
        return true
    }
}

/// The pieces of a body that wait for a reader.
struct PieceQueue {
    private var pieces: [Data] = []
    private var first = 0
    /// How many bytes there are.
    private(set) var count = 0

    /// Pieces smaller than this are joined: a thousand of one byte each would take a hundred times their size.
    private static let smallPiece = 4 * 1024

    mutating func append(_ piece: Data) {
        count += piece.count
        if first < pieces.count, pieces[pieces.count - 1].count + piece.count <= Self.smallPiece {
            pieces[pieces.count - 1].append(piece)
        } else {
            pieces.append(piece)
        }
    }

    mutating func popFirst() -> Data? {
        guard first < pieces.count else { return nil }
        var piece = Data()
        swap(&piece, &pieces[first])
        first += 1
        count -= piece.count
        // Moving what is left once half is used up costs each piece at most one move on average; a queue that is never
        // quite empty would grow for ever without.
        if first * 2 >= pieces.count {
            pieces.removeFirst(first)
            first = 0
        }
        return piece
    }
}
