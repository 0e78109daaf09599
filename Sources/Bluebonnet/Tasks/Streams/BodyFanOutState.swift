import FoundationEssentials

/// Decides what happens to the bytes of a streamed body between the transport and its readers, as a value.
///
/// Every reader gets the whole body: a reader may join until the first byte has been handed out, and a place keeps the
/// beginning for a reader that has not joined. The slowest reader sets the pace: when more than the high watermark
/// waits for it, the transport pauses, and at the low watermark it resumes. Bytes that came in are never lost: before
/// there is a reader they wait for the first, and an end or a failure comes after the last byte.
struct BodyFanOutState {
    /// Names a reader.
    typealias ReaderID = UInt64

    /// A reader that would miss the beginning, and gets nothing.
    static let lateReader = ReaderID.max

    /// What a reader gets.
    enum ReadAction: Equatable {
        /// Bytes; with `demandsMore`, the transport is to resume.
        case take(Data, demandsMore: Bool)
        case wait
        case end
        case fail(RequestError.Kind)

        var demandsMore: Bool { if case .take(_, demandsMore: true) = self { true } else { false } }
    }

    /// What follows when a reader or a place is given up.
    enum LeaveAction: Equatable {
        case nothing
        /// The transport is to resume: the other readers have room.
        case demandMore
        /// There is no reader left, and the request is to be cancelled.
        case cancel
    }

    private enum End {
        case complete
        case failed(RequestError)
    }

    private struct Reader {
        let id: ReaderID
        let cancelsRequest: Bool
        /// The number of the piece that it reads next.
        var next = 0
        var bytesRead = 0
    }

    private var readers: [Reader] = []
    private var nextID: ReaderID = 0
    /// How many readers that have not joined the beginning is kept for.
    private var places = 0
    private var hadReaders = false
    /// The pieces that a reader, or one who may still join, has not read.
    private var pieces = PieceQueue()
    private var bytesReceived = 0
    /// Whether bytes were handed out or dropped: from then on, a reader without a place would miss the beginning.
    private var isBegun = false
    /// How many tasks that have read the head alone may still read the body.
    private var tasks = 0
    private var hadTasks = false
    private var isPaused = false
    private var end: End?
    private let highWatermark: Int
    private let lowWatermark: Int

    init(highWatermark: Int, lowWatermark: Int) {
        self.highWatermark = max(1, highWatermark)
        self.lowWatermark = min(max(0, lowWatermark), self.highWatermark)
    }

    /// How many bytes wait for the slowest reader.
    var heldBytes: Int { bytesReceived - (slowest?.bytesRead ?? bytesReceived) }

    /// The position of the slowest reader, including readers that may still join; `nil` if there are neither.
    private var slowest: (piece: Int, bytesRead: Int)? {
        if places > 0 || !hadReaders { return (0, 0) }
        guard var slowest = readers.first else { return nil }
        for reader in readers.dropFirst() where reader.next < slowest.next { slowest = reader }
        return (slowest.next, slowest.bytesRead)
    }

    /// What ended the body, if it failed.
    var failure: RequestError? { if case .failed(let error) = end { error } else { nil } }

    /// Bytes came in.
    mutating func received(_ bytes: Data) -> ReceiveAction {
        guard end == nil else { return .stop }
        bytesReceived += bytes.count
        // All readers have left, and want the request to finish: the rest is dropped.
        guard slowest != nil else { return .proceed }
        pieces.append(bytes, joiningFrom: readers.reduce(0) { max($0, $1.next) })
        guard readers.isEmpty || heldBytes >= highWatermark else { return .proceed }
        isPaused = true
        return .pause
    }

    /// Nothing more will come, for good or with an error; only the first such report counts.
    mutating func ended(with error: RequestError?) {
        guard end == nil else { return }
        end = error.map(End.failed) ?? .complete
    }

    // MARK: Tasks

    /// A task has asked for the head, and may read the body.
    mutating func taskBegan() {
        tasks += 1
        hadTasks = true
    }

    /// A task is gone that might have read the body.
    mutating func taskEnded(cancelsRequest: Bool) -> LeaveAction {
        tasks -= 1
        guard tasks == 0, !hadReaders, places == 0 else { return .nothing }
        return abandoned(cancelsRequest: cancelsRequest)
    }

    // MARK: Places

    /// Keeps the beginning for a reader; returns whether that is still possible.
    mutating func reserved() -> Bool {
        guard !isBegun else { return false }
        places += 1
        return true
    }

    /// A place was given up without having been used.
    mutating func placeLeft(cancelsRequest: Bool) -> LeaveAction {
        places -= 1
        if hadReaders { return changedReaders(cancelsRequest: cancelsRequest) }
        // A request that was not begun, or whose head alone was asked for, may still be read.
        guard hadTasks, tasks == 0, places == 0 else { return .nothing }
        return abandoned(cancelsRequest: cancelsRequest)
    }

    // MARK: Readers

    /// A reader joins.
    mutating func joined(cancelsRequest: Bool, inPlace: Bool = false) -> ReaderID {
        guard inPlace || !isBegun else { return Self.lateReader }
        if inPlace { places -= 1 }
        hadReaders = true
        defer { nextID += 1 }
        readers.append(Reader(id: nextID, cancelsRequest: cancelsRequest))
        return nextID
    }

    /// A reader wants bytes.
    mutating func wanted(by id: ReaderID) -> ReadAction {
        guard let index = readers.firstIndex(where: { $0.id == id }) else {
            return id == Self.lateReader ? .fail(failure?.kind ?? .bodyAlreadyRead) : .end
        }
        if readers[index].next < pieces.endNumber {
            isBegun = true
            let piece = pieces[readers[index].next]
            readers[index].next += 1
            readers[index].bytesRead += piece.count
            dropWhatIsRead()
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
        return reader.next == pieces.endNumber
    }

    /// A reader has no use for more.
    mutating func left(_ id: ReaderID) -> LeaveAction {
        guard let index = readers.firstIndex(where: { $0.id == id }) else { return .nothing }
        return changedReaders(cancelsRequest: readers.remove(at: index).cancelsRequest)
    }

    private mutating func changedReaders(cancelsRequest: Bool) -> LeaveAction {
        guard slowest != nil else { return abandoned(cancelsRequest: cancelsRequest) }
        dropWhatIsRead()
        return demandsMore() ? .demandMore : .nothing
    }

    /// There is no reader, and none can join: the request is cancelled, or the rest of the body dropped.
    private mutating func abandoned(cancelsRequest: Bool) -> LeaveAction {
        hadReaders = true
        dropWhatIsRead()
        if cancelsRequest, end == nil { return .cancel }
        return demandsMore() ? .demandMore : .nothing
    }

    private mutating func dropWhatIsRead() {
        guard let slowest else {
            isBegun = true
            return pieces.removeAll(before: pieces.endNumber)
        }
        pieces.removeAll(before: slowest.piece)
    }

    private mutating func demandsMore() -> Bool {
        guard isPaused, end == nil, heldBytes <= lowWatermark else { return false }
        isPaused = false
        return true
    }
}

/// The pieces of a body that wait for readers, each by its number since the beginning of the body.
struct PieceQueue {
    private var pieces: [Data] = []
    /// Where in the array the oldest piece is; what stands before it is empty.
    private var first = 0
    /// The number of the oldest piece.
    private(set) var startNumber = 0

    /// Pieces smaller than this are joined: a thousand of one byte each would take a hundred times their size.
    private static let smallPiece = 4 * 1024

    /// The number of the piece that comes next.
    var endNumber: Int { startNumber + pieces.count - first }

    /// Adds a piece, which is joined with the one before if both are small and no reader has taken that yet.
    mutating func append(_ piece: Data, joiningFrom unread: Int) {
        if unread < endNumber, pieces[pieces.count - 1].count + piece.count <= Self.smallPiece {
            pieces[pieces.count - 1].append(piece)
        } else {
            pieces.append(piece)
        }
    }

    subscript(number: Int) -> Data { pieces[first + number - startNumber] }

    mutating func removeAll(before number: Int) {
        while startNumber < number {
            pieces[first] = Data()
            first += 1
            startNumber += 1
        }
        // Moving what is left once half is used up costs each piece at most one move on average; a queue that is never
        // quite empty would otherwise grow without a limit.
        if first > 0, first * 2 >= pieces.count {
            pieces.removeFirst(first)
            first = 0
        }
    }
}
