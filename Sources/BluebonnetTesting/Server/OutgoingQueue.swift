import FoundationEssentials

/// Holds the bytes that a connection has yet to send, and the tasks that wait for that.
struct OutgoingQueue {
    /// Receives the result of sending.
    typealias Waiter = CheckedContinuation<LocalServer.Failure?, Never>

    private struct Piece {
        var data: Data
        /// Whether it belongs to the body of a streamed response.
        let isBody: Bool
    }

    /// The result of sending.
    enum Outcome {
        case sent
        /// The socket takes no more for now.
        case blocked
        case failed
    }

    private var pieces: [Piece] = []
    private var first = 0
    private var offset = 0
    private var waiters: [Waiter] = []
    private var counts = Counts()

    /// How much the socket has taken.
    struct Counts {
        var all = 0
        /// Of that, what belongs to the bodies of streamed responses.
        var body = 0
    }

    var isEmpty: Bool { first == pieces.count }

    mutating func append(_ data: Data, isBody: Bool = false) {
        if !data.isEmpty { pieces.append(Piece(data: data, isBody: isBody)) }
    }

    /// Has a waiter told when all that is in the queue by now is sent.
    mutating func notify(_ waiter: Waiter) {
        waiters.append(waiter)
    }

    /// Sends as much as the socket takes.
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

    /// The bytes that the socket has taken since the last call.
    mutating func takeCounts() -> Counts {
        defer { counts = Counts() }
        return counts
    }

    /// Takes out the waiters; to be resumed after the queue was sent or the connection closed.
    mutating func takeWaiters() -> [Waiter] {
        guard !waiters.isEmpty else { return [] }
        defer { waiters.removeAll(keepingCapacity: true) }
        return waiters
    }
}
