import FoundationEssentials

@testable import Bluebonnet

/// What one connection to a ``FakeEventServer`` is like.
struct FakeResponse: Sendable {
    /// What follows the chunks of a body.
    enum End: Sendable {
        case close
        case fail(RequestError.Kind)
        /// Nothing, until the connection is cancelled.
        case hang
    }

    /// Why there is no connection.
    var failure: RequestError.Kind?
    /// Whether there is no answer until the task is cancelled.
    var isSilent = false
    var statusCode = 200
    var contentType: String? = "text/event-stream"
    var retryAfter: String?
    var chunks: [String] = []
    var end = End.close

    static func events(_ chunks: String..., end: End = .close) -> FakeResponse {
        FakeResponse(chunks: chunks, end: end)
    }

    static func failure(_ kind: RequestError.Kind) -> FakeResponse { FakeResponse(failure: kind) }

    static func status(_ code: Int, _ contentType: String? = "text/event-stream") -> FakeResponse {
        FakeResponse(statusCode: code, contentType: contentType, chunks: ["data:never\n\n"], end: .hang)
    }

    static let silence = FakeResponse(isSilent: true)
}

/// Answers the connections of an ``EventSource`` by a script, without a network and without waiting.
final class FakeEventServer: Sendable {
    private struct State {
        var answers: [FakeResponse]
        var requests: [HTTPHeaders] = []
        var delays: [Duration] = []
        var openConnections = 0
    }

    private let state: Locked<State>
    /// Happens when a connection is asked for, when a reader waits for bytes, and when a source waits to reconnect.
    let connecting = Latch()
    let reading = Latch()
    let waiting = Latch()

    /// Creates a server; connections beyond its answers end the source with 204.
    init(_ answers: FakeResponse...) {
        state = Locked(State(answers: answers))
    }

    var requests: [HTTPHeaders] { state.withLock { $0.requests } }
    var lastEventIDs: [String?] { requests.map { $0["Last-Event-ID"] } }
    /// How long the source has waited, time after time, in milliseconds.
    var delays: [Int64] {
        state.withLock { $0.delays }
            .map { $0.components.seconds * 1000 + $0.components.attoseconds / 1_000_000_000_000_000 }
    }
    /// The number of open connections.
    var openConnections: Int { state.withLock { $0.openConnections } }

    /// Returns a source of this server's events, whose waits are over at once, or never.
    func source(_ configuration: EventSource.Configuration = .init(), waitsForEver: Bool = false) -> EventSource {
        let timing = EventSource.Timing(
            sleep: { delay in
                self.state.withLock { $0.delays.append(delay) }
                self.waiting.open()
                if waitsForEver { await Latch().waitUnlessCancelled() }
                try Task.checkCancellation()
            }, jitter: { 0 })
        return EventSource(configuration: configuration, timing: timing) { fields throws(RequestError) in
            try await self.connect(fields)
        }
    }

    private func connect(_ fields: HTTPHeaders) async throws(RequestError) -> EventSourceConnection {
        let answer = state.withLock { state in
            state.requests.append(fields)
            return state.answers.isEmpty ? FakeResponse.status(204, nil) : state.answers.removeFirst()
        }
        connecting.open()
        if answer.isSilent { await Latch().waitUnlessCancelled() }
        if Task.isCancelled { throw RequestError(.cancelled) }
        if let failure = answer.failure { throw RequestError(failure, detail: "scripted") }
        guard let url = URL(string: "http://events.test/") else { throw RequestError(.invalidURL) }
        var headers: HTTPHeaders = answer.contentType.map { ["Content-Type": $0] } ?? [:]
        if let value = answer.retryAfter { headers.append(name: "Retry-After", value: value) }
        state.withLock { $0.openConnections += 1 }
        let closed = Latch()
        return EventSourceConnection(
            response: HTTPResponse(url: url, statusCode: answer.statusCode, headers: headers),
            chunks: FakeChunks(answer: answer, closed: closed, reading: reading)
        ) {
            if closed.open() { self.state.withLock { $0.openConnections -= 1 } }
        }
    }
}

/// The body of a ``FakeResponse``, which does not see that its reader's task is cancelled: it has to be closed.
private struct FakeChunks: AsyncSequence, Sendable {
    typealias Failure = RequestError

    let answer: FakeResponse
    let closed: Latch
    let reading: Latch

    func makeAsyncIterator() -> Iterator { Iterator(chunks: self, rest: answer.chunks[...]) }

    struct Iterator: AsyncIteratorProtocol {
        let chunks: FakeChunks
        var rest: ArraySlice<String>

        mutating func next() async throws(RequestError) -> Data? { try await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> Data? {
            if chunks.closed.isOpen { throw RequestError(.cancelled) }
            if let chunk = rest.popFirst() { return Data(chunk.utf8) }
            chunks.reading.open()
            switch chunks.answer.end {
            case .close: return nil
            case .fail(let kind): throw RequestError(kind, detail: "scripted")
            case .hang:
                await chunks.closed.wait()
                throw RequestError(.cancelled)
            }
        }
    }
}

/// Something that happens once, and that can be waited for.
final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Resumes all current and later tasks; returns `true` for the first call.
    @discardableResult func open() -> Bool {
        let (isFirst, waiting) = state.withLock { state in
            defer { state = State(isOpen: true) }
            return (!state.isOpen, state.waiting)
        }
        for continuation in waiting { continuation.resume() }
        return isFirst
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    /// Waits until the task is cancelled.
    func waitUnlessCancelled() async {
        await withTaskCancellationHandler {
            await wait()
        } onCancel: {
            open()
        }
    }
}
