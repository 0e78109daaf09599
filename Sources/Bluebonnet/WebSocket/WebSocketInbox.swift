import FoundationEssentials

/// The received bytes of a WebSocket that were not parsed, and the pieces of messages that wait for their reader.
///
/// This is a value type without I/O and without a clock.
struct WebSocketInbox: ~Copyable {
    /// Whether received bytes are parsed.
    enum Reading {
        case running
        /// The pieces wait for their reader, and the transport waits, too.
        case held
        /// There are many frames, and the others are parsed in a task.
        case later
    }

    /// The result of parsing.
    enum Step {
        case event(WebSocketEvent)
        /// The rest is parsed in a task.
        case later
        /// Nothing is parsed until more bytes arrive or more pieces are read.
        case done
    }

    private(set) var reading = Reading.running
    /// Whether reading was held since the last keep-alive ping was due.
    var wasHeld = false
    /// Whether messages are dropped, because no loop reads them.
    private var isDiscarding = false
    private var receiver: WebSocketReceiver?
    /// The bytes that were not parsed yet.
    private var input = ElementQueue<Data>()
    private var pieces = ElementQueue<WebSocketPiece>()
    /// The memory of the pieces: their bytes, and ``pieceOverhead`` for each.
    private var pieceBytes = 0
    private(set) var receivedBytes: Int64 = 0
    /// The number of frames that were parsed in this turn.
    private var frames = 0
    private let (high, low): (Int, Int)

    /// The number of bytes that a piece counts in addition, so that the number of empty messages is limited, too.
    private static let pieceOverhead = 64
    /// The number of frames that are parsed at once; each takes up to some microseconds of the event loop.
    private static let framesAtOnce = 512

    init(high: Int, low: Int) { (self.high, self.low) = (high, low) }

    var isPaused: Bool { reading != .running }
    var isEmpty: Bool { pieces.isEmpty }
    /// Whether as many pieces wait as may.
    var isFull: Bool { pieceBytes >= high }
    /// Whether reading was held, and there is room again.
    var mayResume: Bool { isPaused && pieceBytes <= low }
    /// The size of the message whose end was not received.
    var messageSize: Int { mutating get { receiver?.messageSize ?? 0 } }
    var isInMessage: Bool { mutating get { receiver?.isInMessage == true } }

    mutating func opened(_ deflate: WebSocketDeflateParameters?) { receiver = WebSocketReceiver(deflate: deflate) }

    /// Called when the request has ended, and nothing more is parsed.
    mutating func ended() {
        receiver = nil
        input = ElementQueue()
    }

    /// Called with bytes of the connection; returns whether they are to be parsed now.
    mutating func received(_ bytes: Data) -> Bool {
        receivedBytes += Int64(bytes.count)
        guard !isPaused else {
            input.append(bytes)
            return false
        }
        receiver?.append(bytes)
        return true
    }

    /// Called before bytes are parsed.
    mutating func beginsToParse() { frames = 0 }

    /// Parses up to the next event that is no piece of a message.
    ///
    /// - Parameters:
    ///   - isWanted: Whether messages are delivered.
    ///   - isOpen: Whether the connection is open. If not, the answer to the own close frame may follow, and does not
    ///     wait for a reader.
    /// - Returns: The event, or the reason why there is none.
    mutating func next(isWanted: Bool, isOpen: Bool) -> Step {
        while receiver != nil {
            guard frames < Self.framesAtOnce else {
                reading = .later
                return .later
            }
            frames += 1
            guard let event = receiver?.next() else {
                guard let bytes = input.popFirst() else {
                    reading = .running
                    break
                }
                receiver?.append(bytes)
                continue
            }
            guard case .piece(let piece) = event else { return .event(event) }
            guard isWanted, !isDiscarding else { continue }
            pieces.append(piece)
            pieceBytes += piece.size + Self.pieceOverhead
            guard isFull else { continue }
            guard isOpen else {
                discard()
                continue
            }
            (reading, wasHeld) = (.held, true)
            break
        }
        return .done
    }

    mutating func popFirst() -> WebSocketPiece? {
        guard let piece = pieces.popFirst() else { return nil }
        pieceBytes -= piece.size + Self.pieceOverhead
        return piece
    }

    /// Drops the messages that are received from now on.
    mutating func discard() {
        isDiscarding = true
        receiver?.discardMessages()
    }

    /// Drops the messages that were received.
    mutating func removeAll() { (pieces, pieceBytes) = (ElementQueue(), 0) }

    /// Drops all messages, and parses no more frames.
    mutating func refuse() {
        isDiscarding = true
        removeAll()
        receiver?.end()
    }
}
