import FoundationEssentials

/// One loop over an ``EventSource``.
///
/// It performs the actions of ``EventSourceState`` in the reader's own task, so cancelling this task ends every wait.
/// Releasing the object closes the connection.
final class EventSourceRun {
    private let open: EventSource.Open
    private let timing: EventSource.Timing
    private let status: EventSourceStatus
    private let maximumEventBytes: Int

    private var state: EventSourceState
    private var action = EventSourceState.Action.connect
    private var connection: CancellingConnection?
    private var parser: ServerSentEventParser
    /// The last event ID that was published in the status.
    private var lastEventID: String
    /// The error that ended the last connection, with all its details.
    private var failure: RequestError?
    /// The head of the last response, and the method of its request.
    private var head: (response: HTTPResponse, method: HTTPMethod)?
    private var isClosed = false

    init(
        configuration: EventSource.Configuration, timing: EventSource.Timing, status: EventSourceStatus,
        open: @escaping EventSource.Open
    ) {
        self.open = open
        self.timing = timing
        self.status = status
        maximumEventBytes = configuration.maximumEventBytes
        state = EventSourceState(configuration)
        lastEventID = configuration.initialLastEventID
        parser = ServerSentEventParser(
            lastEventID: configuration.initialLastEventID, limit: configuration.maximumEventBytes)
    }

    deinit {
        close()
    }

    /// Waits for the next event, or returns `nil` if the sequence has ended.
    func next() async throws(RequestError) -> ServerSentEvent? {
        while let entry = try await nextEntry() { if case .event(let event) = entry { return event } }
        return nil
    }

    /// Waits for the next event or comment, or returns `nil` if the sequence has ended.
    func nextEntry() async throws(RequestError) -> EventSource.Entry? {
        while !isClosed {
            if Task.isCancelled { action = state.cancelled() }
            switch action {
            case .connect: await connect()
            case .read: if let entry = await read() { return entry }
            case .wait(let delay): await wait(delay)
            case .finish: close()
            case .fail(let kind):
                close()
                throw failure.flatMap { $0.kind == kind ? $0 : nil } ?? error(kind)
            }
        }
        return nil
    }

    private func connect() async {
        status.states.send(.connecting)
        (failure, head) = (nil, nil)
        do throws(RequestError) {
            let opened = try await open(fields)
            let live = CancellingConnection(opened)
            state.requestSent(opened.method)
            action = headReceived(opened.response)
            head = (opened.response, opened.method)
            // Otherwise, the connection is closed when this scope ends.
            guard action == .read else { return }
            connection = live
            parser = ServerSentEventParser(lastEventID: parser.lastEventID, limit: maximumEventBytes)
            status.states.send(.open)
        } catch {
            if let method = error.method { state.requestSent(method) }
            guard case .validation = error.kind, let response = error.response else { return connectionEnded(error) }
            action = headReceived(response)
            switch action {
            case .fail(let kind): failure = error.with(kind)
            case .wait: failure = error.with(.eventSource(.unacceptableStatusCode(response.statusCode)))
            case .connect, .read, .finish: break
            }
        }
    }

    private func headReceived(_ response: HTTPResponse) -> EventSourceState.Action {
        let asked = response.headers.values(for: "Retry-After").compactMap { RetryAfter.delay($0, now: Date()) }
        return state.headReceived(
            statusCode: response.statusCode, mimeType: response.mimeType, retryAfter: asked.max(),
            jitter: timing.jitter())
    }

    /// The error of a kind, about the last response.
    private func error(_ kind: RequestError.Kind) -> RequestError {
        let error = RequestError(kind, underlying: failure)
        guard let head else { return error }
        let request = HTTPRequest(url: head.response.url, method: head.method)
        return error.about(head.response, body: nil).during(request, attempts: 1)
    }

    /// The header fields of a request for an event stream (WHATWG HTML §9.2.2).
    private var fields: HTTPHeaders {
        var fields: HTTPHeaders = ["Accept": "text/event-stream", "Cache-Control": "no-cache"]
        if !parser.lastEventID.isEmpty { fields.append(name: "Last-Event-ID", value: parser.lastEventID) }
        return fields
    }

    /// Waits for the next event or comment of the connection, or returns `nil` if the connection has ended.
    private func read() async -> EventSource.Entry? {
        guard let connection else { preconditionFailure("an event source reads without a connection") }
        do throws(RequestError) {
            while true {
                let entry = try parser.nextEntry()
                parserAdvanced()
                switch entry {
                case .event(let event): return state.isFinal(event) ? finalEventReceived() : .event(event)
                case .comment(let comment):
                    status.comments.send(comment)
                    return .comment(comment)
                case nil: break
                }
                guard let chunk = try await connection.next() else { break }
                parser.append(chunk)
            }
            connectionEnded(nil)
        } catch {
            connectionEnded(error)
        }
        return nil
    }

    private func finalEventReceived() -> EventSource.Entry? {
        connection = nil
        action = state.finalEventReceived()
        return nil
    }

    private func parserAdvanced() {
        if let time = parser.reconnectionTime { state.reconnectionTimeReceived(time) }
        if parser.lastEventID != lastEventID {
            lastEventID = parser.lastEventID
            status.lastEventID.withLock { $0 = lastEventID }
        }
    }

    private func connectionEnded(_ error: RequestError?) {
        connection = nil
        failure = error
        // If the reader's task was cancelled, the end of the body is not the end of the stream.
        action = Task.isCancelled ? state.cancelled() : state.connectionEnded(error?.kind, jitter: timing.jitter())
    }

    private func wait(_ delay: Duration) async {
        status.states.send(.waiting(delay, after: failure?.kind))
        do {
            try await timing.sleep(delay)
            action = state.waited()
        } catch {
            action = state.cancelled()
        }
    }

    private func close() {
        guard !isClosed else { return }
        isClosed = true
        connection = nil
        status.states.send(.closed)
    }
}

/// A connection that is closed when it is released, or when the task that reads it is cancelled.
private final class CancellingConnection {
    private let cancel: @Sendable () -> Void
    private var chunks: any AsyncIteratorProtocol<Data, RequestError>

    init(_ connection: EventSourceConnection) {
        cancel = connection.cancel
        chunks = connection.chunks.makeAsyncIterator()
    }

    deinit {
        cancel()
    }

    func next() async throws(RequestError) -> Data? {
        do {
            return try await withTaskCancellationHandler {
                try await chunks.next(isolation: #isolation)
            } onCancel: { [cancel] in
                cancel()
            }
        } catch let error as RequestError {
            throw error
        } catch {
            throw RequestError(.internal, underlying: error)
        }
    }
}

/// The status of an ``EventSource``, for observers that do not read its events.
final class EventSourceStatus: Sendable {
    let states = Broadcast<EventSource.State>()
    let comments = Broadcast<String>()
    /// The last event ID, or `nil` if no ID was received.
    let lastEventID = Locked<String?>(nil)
}
