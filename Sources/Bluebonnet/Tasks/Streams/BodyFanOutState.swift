import FoundationEssentials

/// The state of a streamed body and its readers, without I/O and without a clock.
///
/// Every reader receives the whole body. A reader may join until the first byte is delivered. A reserved place keeps
/// the beginning of the body for a later reader. The transport pauses when the number of bytes that wait for the
/// slowest reader reaches the high watermark. It resumes at the low watermark.
///
/// Received bytes wait for the first reader. The end or the failure of the body is delivered after the last byte.
struct BodyFanOutState {
    /// The identifier of a reader.
    typealias ReaderID = UInt64

    /// The identifier of readers that joined too late, which receive no bytes.
    static let lateReader = ReaderID.max

    /// The result of a read.
    enum ReadAction: Equatable {
        /// Returns bytes to the reader, and resumes the transport if `demandsMore` is `true`.
        case take(Data, demandsMore: Bool)
        case wait
        case end
        case fail(RequestError.Kind)

        var demandsMore: Bool { if case .take(_, demandsMore: true) = self { true } else { false } }
    }

    /// The action after a reader or a reserved place was removed.
    enum LeaveAction: Equatable {
        case nothing
        /// Resume the transport, because the other readers have read enough.
        case demandMore
        /// Cancel the request, because there are no readers.
        case cancel
    }

    private enum End {
        case complete
        case failed(RequestError)
    }

    private struct Reader {
        let id: ReaderID
        let cancelsRequest: Bool
        /// The number of the next piece to read.
        var next = 0
        var bytesRead = 0
    }

    private var readers: [Reader] = []
    private var nextID: ReaderID = 0
    /// The number of reserved places, for which the beginning of the body is kept.
    private var places = 0
    private var hadReaders = false
    /// The pieces that some current or later reader has not read.
    private(set) var pieces = PieceQueue()
    private var bytesReceived = 0
    /// Whether bytes were delivered or dropped, so that a new reader without a place can no longer join.
    private var isBegun = false
    /// The number of tasks that have requested the head and may later read the body.
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

    /// The number of bytes that wait for the slowest reader.
    var heldBytes: Int { bytesReceived - (slowest?.bytesRead ?? bytesReceived) }

    /// The position of the slowest reader, including readers that may join later, or `nil` if there are no such
    /// readers.
    private var slowest: (piece: Int, bytesRead: Int)? {
        if places > 0 || !hadReaders { return (0, 0) }
        guard var slowest = readers.first else { return nil }
        for reader in readers.dropFirst() where reader.next < slowest.next { slowest = reader }
        return (slowest.next, slowest.bytesRead)
    }

    /// The error of the body, if it failed.
    var failure: RequestError? { if case .failed(let error) = end { error } else { nil } }

    /// Bytes were received.
    mutating func received(_ bytes: Data) -> ReceiveAction {
        guard end == nil else { return .stop }
        bytesReceived += bytes.count
        // All readers have left, but the request continues, so the rest of the body is dropped.
        guard slowest != nil else { return .proceed }
        pieces.append(bytes, joiningFrom: readers.reduce(0) { max($0, $1.next) })
        guard readers.isEmpty || heldBytes >= highWatermark else { return .proceed }
        isPaused = true
        return .pause
    }

    /// The body is complete or has failed.
    ///
    /// Later calls are ignored.
    mutating func ended(with error: RequestError?) {
        guard end == nil else { return }
        end = error.map(End.failed) ?? .complete
    }

    // MARK: Tasks

    /// A task has requested the head, and may read the body.
    mutating func taskBegan() {
        tasks += 1
        hadTasks = true
    }

    /// A task that could have read the body was released.
    mutating func taskEnded(cancelsRequest: Bool) -> LeaveAction {
        tasks -= 1
        guard tasks == 0, !hadReaders, places == 0 else { return .nothing }
        return abandoned(cancelsRequest: cancelsRequest)
    }

    // MARK: Places

    /// Reserves a place, and returns whether the beginning of the body is still available.
    mutating func reserved() -> Bool {
        guard !isBegun else { return false }
        places += 1
        return true
    }

    /// A reserved place was released without use.
    mutating func placeLeft(cancelsRequest: Bool) -> LeaveAction {
        places -= 1
        if hadReaders { return changedReaders(cancelsRequest: cancelsRequest) }
        // The body may still be read if the request was not started, or if a task has requested the head.
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

    /// Returns whether the transport resumes for a reader that has joined.
    ///
    /// If there was no reader, the transport has paused early.
    mutating func continuesForReader() -> Bool {
        guard isPaused, end == nil, !readers.isEmpty, heldBytes < highWatermark else { return false }
        isPaused = false
        return true
    }

    /// A reader requests bytes.
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

    /// Returns whether a reader has to wait.
    func hasNothing(for id: ReaderID) -> Bool {
        guard end == nil, let reader = readers.first(where: { $0.id == id }) else { return false }
        return reader.next == pieces.endNumber
    }

    /// A reader stops.
    mutating func left(_ id: ReaderID) -> LeaveAction {
        guard let index = readers.firstIndex(where: { $0.id == id }) else { return .nothing }
        return changedReaders(cancelsRequest: readers.remove(at: index).cancelsRequest)
    }

    private mutating func changedReaders(cancelsRequest: Bool) -> LeaveAction {
        guard slowest != nil else { return abandoned(cancelsRequest: cancelsRequest) }
        dropWhatIsRead()
        return demandsMore() ? .demandMore : .nothing
    }

    /// Cancels the request or drops the rest of the body, because there are no readers and no reader can join.
    private mutating func abandoned(cancelsRequest: Bool) -> LeaveAction {
        hadReaders = true
        dropWhatIsRead()
        if cancelsRequest, end == nil { return .cancel }
        return demandsMore() ? .demandMore : .nothing
    }

    private mutating func dropWhatIsRead() {
        guard let slowest else {
            // A later reader of an empty body misses nothing.
            isBegun = end == nil || bytesReceived > 0
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

/// A queue of the pieces of a body that wait for readers.
///
/// Pieces are numbered from the beginning of the body.
struct PieceQueue {
    private var pieces: [Data] = []
    /// The index of the oldest piece.
    ///
    /// The elements before it are empty.
    private var first = 0
    /// The number of the oldest piece.
    private(set) var startNumber = 0

    /// The maximum size of joined pieces, in bytes.
    ///
    /// Small pieces are joined because each separate piece needs additional memory.
    private static let smallPiece = 4 * 1024

    /// The number of the next piece to arrive.
    var endNumber: Int { startNumber + pieces.count - first }

    /// Adds a piece, and joins it with the previous piece if both are small and no reader has received the previous
    /// piece.
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
        // The remaining pieces are moved when half of the array is unused, which costs at most one move per piece on
        // average. Otherwise, a queue that is never empty would grow without a limit.
        if first > 0, first * 2 >= pieces.count {
            pieces.removeFirst(first)
            first = 0
        }
    }
}
