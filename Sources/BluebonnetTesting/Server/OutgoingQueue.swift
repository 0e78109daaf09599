import FoundationEssentials

/// The unsent bytes of a connection, and the tasks that wait until these bytes are sent.
struct OutgoingQueue {
    /// Receives the result of sending.
    typealias Waiter = CheckedContinuation<LocalServer.Failure?, Never>

    private struct Piece {
        var data: Data
        /// Whether the piece belongs to the body of a streamed response.
        let isBody: Bool
    }

    /// The result of sending.
    enum Outcome {
        case sent
        /// The socket accepts no more bytes for now.
        case blocked
        case failed
    }

    private var pieces: [Piece] = []
    private var first = 0
    private var offset = 0
    private var waiters: [Waiter] = []
    private var counts = Counts()

    /// The number of bytes that the socket has accepted.
    struct Counts {
        var all = 0
        /// The part of these bytes that belongs to bodies of streamed responses.
        var body = 0
    }

    var isEmpty: Bool { first == pieces.count }

    mutating func append(_ data: Data, isBody: Bool = false) {
        if !data.isEmpty { pieces.append(Piece(data: data, isBody: isBody)) }
    }

    /// Adds a waiter, to be resumed after all bytes in the queue have been sent.
    mutating func notify(_ waiter: Waiter) {
        waiters.append(waiter)
    }

    /// Sends as many bytes as the socket accepts.
    mutating func send(on socket: Socket) -> Outcome {
        while first < pieces.count {
            let moreFollows = first + 1 < pieces.count
            switch socket.write(pieces[first].data, from: offset, moreFollows: moreFollows) {
            case .done(let count):
                offset += count
                counts.all += count
                if pieces[first].isBody { counts.body += count }
                guard offset == pieces[first].data.count else { continue }
                offset = 0
                pieces[first].data = Data()
                first += 1
            case .wouldBlock:
                return .blocked
            case .ended, .failed:
                return .failed
            }
        }
        pieces.removeAll(keepingCapacity: true)
        first = 0
        return .sent
    }

    /// Returns the number of bytes that the socket has accepted since the last call.
    mutating func takeCounts() -> Counts {
        defer { counts = Counts() }
        return counts
    }

    /// Removes and returns the waiters.
    ///
    /// The caller resumes them after the bytes were sent or the connection was closed.
    mutating func takeWaiters() -> [Waiter] {
        guard !waiters.isEmpty else { return [] }
        defer { waiters.removeAll(keepingCapacity: true) }
        return waiters
    }
}
