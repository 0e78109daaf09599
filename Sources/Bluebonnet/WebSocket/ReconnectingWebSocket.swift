public import FoundationEssentials

/// A WebSocket that connects again when its connection is lost.
///
/// ```swift
/// let feed = session.reconnectingWebSocket("wss://example.com/feed")
/// for try await event in feed.events {
///     switch event {
///     case .opened(let task): try? await task.send("subscribe")  // After a failure, `.disconnected` follows.
///     case .message(let message): print(message)
///     case .disconnected(let error, let delay): print("lost", error as Any, "next attempt in", delay)
///     }
/// }
/// ```
///
/// The socket connects when a loop over ``events`` begins. When you leave the loop, the socket closes its connection.
/// Within the loop, the socket connects again after each end of the connection, except in these cases:
///
/// - You have closed the socket.
/// - The server has closed the connection with one of ``WebSocketReconnection/finalCloseCodes``.
/// - The server has answered the handshake with a status code other than 101, 408, 425, 429 and 5xx, or has broken the
///   rules of the protocol.
/// - The request is invalid, an adapter failed, the server is not trusted, or the session was shut down.
/// - ``WebSocketReconnection/maximumAttempts`` attempts in a row have failed.
///
/// Messages are neither stored nor repeated: a message that was passed to a lost connection may not have arrived.
public struct ReconnectingWebSocket: Sendable {
    /// An event of a socket.
    public enum Event: Sendable {
        /// A connection is open; the task sends messages and pings on it.
        ///
        /// The loop over the events receives the messages. To receive messages in pieces instead, read
        /// ``WebSocketTask/pieces`` before you request the next event.
        case opened(WebSocketTask)
        /// A message was received.
        case message(WebSocketMessage)
        /// The connection has ended, or an attempt to connect has failed; the next attempt follows after this time.
        ///
        /// The error is `nil` after a normal end. The wait begins when you request the next event.
        case disconnected(RequestError?, reconnectingAfter: Duration)
    }

    let reconnection: WebSocketReconnection
    let timing: EventSource.Timing
    let makeRequest: @Sendable () -> WebSocketRequest
    private let shared = Shared()

    /// The events of the socket.
    ///
    /// Run one loop at a time. When a loop has ended, another loop connects again, unless you have closed the socket.
    /// If the task of the loop is cancelled, the loop closes the connection and throws `.cancelled`.
    public var events: Events { Events(socket: self) }

    /// The task of the open connection.
    ///
    /// If no connection is open, the property waits for the next one, which needs a loop over ``events``.
    ///
    /// - Throws: The error with which the loop has ended, `.webSocket(.closed(.normalClosure))` if the loop has ended
    ///   without an error, or `.cancelled` if the awaiting Swift task is cancelled.
    public var openTask: WebSocketTask {
        get async throws(RequestError) {
            if case .open(let task) = shared.phases.latest, task.request.connection.isOpen { return task }
            for await phase in shared.phases.stream(bufferingPolicy: .newest(1)) {
                switch phase {
                case .open(let task) where task.request.connection.isOpen: return task
                case .ended(let error): throw error
                case .open, .waiting: continue
                }
            }
            throw shared.error(.cancelled)
        }
    }

    /// Sends a message on the open connection, and waits for a connection if none is open.
    ///
    /// - Parameter message: The message.
    /// - Throws: The errors of ``openTask`` and of ``WebSocketTask/send(_:)-(WebSocketMessage)``. The message is not
    ///   sent again if the connection ends.
    public func send(_ message: WebSocketMessage) async throws(RequestError) { try await openTask.send(message) }

    /// Sends a text message; see ``send(_:)-(WebSocketMessage)``.
    ///
    /// - Parameter text: The text.
    /// - Throws: The errors of ``send(_:)-(WebSocketMessage)``.
    public func send(_ text: String) async throws(RequestError) { try await send(.text(text)) }

    /// Sends a value as JSON in a text message; see ``send(_:)-(WebSocketMessage)``.
    ///
    /// - Parameters:
    ///   - value: The value to encode.
    ///   - encoder: The encoder; a new `JSONEncoder` by default.
    /// - Throws: `.parameterEncoding(.encoderFailed)` if the value cannot be encoded, or an error of
    ///   ``send(_:)-(WebSocketMessage)``.
    public func send<Value: Encodable>(json value: Value, encoder: JSONEncoder = JSONEncoder())
        async throws(RequestError)
    {
        try await openTask.send(json: value, encoder: encoder)
    }

    /// Closes the socket permanently, and waits until the connection has ended.
    ///
    /// The loop receives the messages that arrive before the close frame of the server, and then ends; it may receive
    /// `.disconnected` before its end. A wait for the next attempt ends at once.
    ///
    /// - Parameters:
    ///   - code: The close code; ``WebSocketCloseCode/normalClosure`` by default.
    ///   - reason: The reason, of at most 123 bytes in UTF-8; empty by default.
    /// - Throws: `.webSocket(.invalidClose)` if the code or the reason cannot be sent.
    public func close(code: WebSocketCloseCode = .normalClosure, reason: String = "") async throws(RequestError) {
        guard WebSocketClose(code: code, reason: reason) != nil else {
            throw RequestError(.webSocket(.invalidClose))
        }
        try await shared.beginClosing()?.close(code: code, reason: reason)
    }

    /// The events of a socket.
    public struct Events: AsyncSequence, Sendable {
        fileprivate let socket: ReconnectingWebSocket

        /// Creates an iterator.
        ///
        /// - Returns: The iterator. It connects when you request the first event, and closes the connection when it is
        ///   released.
        public func makeAsyncIterator() -> Iterator { Iterator(run: Run(socket)) }

        /// The iterator of the events.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let run: Run

            /// Waits for the next event, and connects if necessary.
            ///
            /// - Returns: The next event, or `nil` at the end.
            /// - Throws: The error that ends the sequence, or `.cancelled` if the Swift task is cancelled.
            public mutating func next() async throws(RequestError) -> Event? { try await run.next() }

            /// Waits for the next event, and connects if necessary.
            ///
            /// - Parameter actor: The actor that the caller is isolated to.
            /// - Returns: The next event, or `nil` at the end.
            /// - Throws: The error that ends the sequence, or `.cancelled` if the Swift task is cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(RequestError) -> Event? { try await run.next() }
        }
    }

    /// The state that the loop and the senders share.
    private final class Shared: Sendable {
        enum Phase: Sendable {
            case waiting
            case open(WebSocketTask)
            case ended(RequestError)
        }

        let phases = Broadcast<Phase>(latest: .waiting)
        private let current = Locked<(task: WebSocketTask?, isClosing: Bool)>((nil, false))

        var isClosing: Bool { current.withLock { $0.isClosing } }

        /// Sets the task of the next connection; returns `false` if the socket was closed.
        func adopt(_ task: WebSocketTask?) -> Bool {
            let (_, isClosing) = current.withLock { current in
                (exchange(&current.task, with: task), current.isClosing)
            }
            return !isClosing
        }

        /// Closes the socket; returns the task of the connection, if there is one.
        func beginClosing() -> WebSocketTask? {
            let task = current.withLock { current in
                current.isClosing = true
                return current.task
            }
            ended(with: nil)
            return task
        }

        /// Ends the waits of senders.
        func ended(with error: RequestError?) {
            phases.send(.ended(error ?? self.error(.webSocket(.closed(.normalClosure)))))
        }

        /// An error about the connection, if there is one.
        func error(_ kind: RequestError.Kind) -> RequestError {
            let error = RequestError(kind)
            return current.withLock { $0.task }?.request.error(error) ?? error
        }
    }

    /// One loop over the events, which performs the actions of ``ReconnectionState`` in the reader's own task.
    fileprivate final class Run {
        private let socket: ReconnectingWebSocket
        private var state: ReconnectionState
        private var action = ReconnectionState.Action.connect
        private var task: WebSocketTask?
        private var messages: WebSocketTask.Messages.Iterator?
        /// The error that ended the last connection, with all its details.
        private var failure: RequestError?
        private var isEnded = false

        init(_ socket: ReconnectingWebSocket) {
            self.socket = socket
            state = socket.reconnection.initialState
        }

        deinit { end(with: nil) }

        func next() async throws(RequestError) -> Event? {
            while !isEnded {
                if Task.isCancelled { action = state.cancelled() }
                switch action {
                case .connect: if let event = await connect() { return event }
                case .read: if let event = await read() { return event }
                case .wait(let delay): await wait(delay)
                case .finish: end(with: nil)
                case .fail(let kind):
                    let error = failure.flatMap { $0.kind == kind ? $0 : nil } ?? socket.shared.error(kind)
                    end(with: error)
                    throw error
                }
            }
            return nil
        }

        /// Creates the task of the next connection, unless the socket was closed.
        private func prepare() -> WebSocketTask? {
            let task = socket.makeRequest().webSocketTask(automaticallyClosing: false)
            guard socket.shared.adopt(task) else {
                action = state.closed(.finish)
                return nil
            }
            self.task = task
            return task
        }

        private func connect() async -> Event? {
            if task == nil { socket.shared.phases.send(.waiting) }
            guard let task = task ?? prepare() else { return nil }
            do throws(RequestError) {
                task.request.resume()
                _ = try await task.response
            } catch {
                return connectionEnded(task, error)
            }
            messages = task.messages.makeAsyncIterator()
            action = state.opened()
            socket.shared.phases.send(.open(task))
            return .opened(task)
        }

        private func read() async -> Event? {
            guard let task else { preconditionFailure("a socket reads without a connection") }
            do throws(RequestError) {
                if let message = try await messages?.next() { return .message(message) }
                return connectionEnded(task, nil)
            } catch {
                return connectionEnded(task, error)
            }
        }

        private func connectionEnded(_ task: WebSocketTask, _ error: RequestError?) -> Event? {
            // The connection of a cancelled reader is closed at the end.
            guard !Task.isCancelled else { return nil }
            (self.task, messages, failure) = (nil, nil, error)
            guard !socket.shared.isClosing, !task.request.connection.isCloseRequested else {
                action = state.closed(.finish)
                return nil
            }
            let isFinal = socket.reconnection.isFinal(task.closeCode, in: state.phase)
            action = state.ended(error?.kind, isFinal: isFinal, jitter: socket.timing.jitter())
            guard case .wait(let delay) = action else { return nil }
            socket.shared.phases.send(.waiting)
            return .disconnected(error, reconnectingAfter: delay)
        }

        /// Waits before the next attempt.
        ///
        /// The request of this attempt exists already. The end of this request, by the session or by
        /// ``ReconnectingWebSocket/close(code:reason:)``, ends the wait, and the attempt then fails with its error.
        private func wait(_ delay: Duration) async {
            guard let request = prepare()?.request else { return }
            request.core.awaitedBeforeStart(request)
            await withTaskGroup { [sleep = socket.timing.sleep, connection = request.connection] group in
                group.addTask { _ = try? await sleep(delay) }
                group.addTask { await connection.ended() }
                await group.next()
                group.cancelAll()
            }
            action = state.waited()
        }

        /// Closes the connection, and ends the waits of senders.
        private func end(with error: RequestError?) {
            guard !isEnded else { return }
            isEnded = true
            if let request = task?.request {
                if request.isInitialized { request.cancel() }
                request.close(WebSocketClose(code: .normalClosure), isDiscarding: true)
            }
            (task, messages) = (nil, nil)
            socket.shared.ended(with: error)
            _ = socket.shared.adopt(nil)
        }
    }
}
