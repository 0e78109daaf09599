public import Bluebonnet
public import FoundationEssentials

extension LocalServer {
    /// The steps that a server performs on a connection.
    ///
    /// A script specifies every byte that the server sends. With a script, a server can send a malformed head, stop in
    /// the middle of a body, send very slowly, or reset the connection. There are two ways to use a script. A route can
    /// return a script as its response (``Response/script(_:)-(LocalServer.Script.Step...)``). The `script` parameter
    /// of the initializer of ``LocalServer`` provides the script for a whole connection.
    ///
    /// Each step begins when the previous step is done. After the last step, the server closes the connection, like the
    /// step ``Step/close``. If the client disconnects, the script ends at the first step that waits for bytes from the
    /// client or that cannot send bytes.
    public struct Script: Sendable, ExpressibleByArrayLiteral {
        let steps: [Step]

        /// Creates a script.
        ///
        /// - Parameter steps: The steps, in order.
        public init(_ steps: [Step]) {
            self.steps = steps
        }

        /// Creates a script from an array literal.
        ///
        /// - Parameter elements: The steps, in order.
        public init(arrayLiteral elements: Step...) {
            steps = elements
        }

        /// One action on a connection.
        public struct Step: Sendable {
            enum Kind: Sendable {
                case send(Data)
                case drip(Data, piece: Int, interval: Duration)
                case pause(Duration)
                case wait(@Sendable () async -> Void)
                case waitForHead
                case waitForRequest
                case waitForBytes(Int)
                case waitForClose
                case read(@Sendable (_ bytes: [UInt8], _ isEnd: Bool) -> Bool)
                case halfClose
                case reset
                case close
                case stall
                case serve
                case answerWebSocket(WebSocketScript)
            }

            let kind: Kind
        }
    }
}

extension LocalServer.Script.Step {
    /// Creates a step that sends the head of a response with HTTP/1.1.
    ///
    /// - Parameters:
    ///   - status: The status code; 200 by default.
    ///   - headers: The header fields; none by default, so that the body ends with the connection.
    /// - Returns: The new step.
    public static func head(_ status: Int = 200, _ headers: HTTPHeaders = [:]) -> Self {
        var text = "HTTP/1.1 \(status) \(ResponseEncoder.reason(of: status))\r\n"
        for field in headers { text += "\(field.name): \(field.value)\r\n" }
        return .bytes(text + "\r\n")
    }

    /// Creates a step that sends a part of the body; the same as ``text(_:)``.
    ///
    /// - Parameter text: The text, which is sent in UTF-8.
    /// - Returns: The new step.
    public static func body(_ text: String) -> Self { .bytes(text) }

    /// Creates a step that sends bytes.
    ///
    /// The step is done when the socket of the server has accepted all bytes.
    ///
    /// - Parameter bytes: The bytes to send.
    /// - Returns: The new step.
    package static func bytes(_ bytes: [UInt8]) -> Self { Self(kind: .send(Data(bytes))) }

    /// Creates a step that sends text in UTF-8; the same as ``text(_:)``.
    ///
    /// The step is done when the socket of the server has accepted all bytes.
    ///
    /// - Parameter text: The text to send. HTTP lines end with `\r\n`.
    /// - Returns: The new step.
    public static func bytes(_ text: String) -> Self { Self(kind: .send(Data(text.utf8))) }

    /// Creates a step that sends bytes.
    ///
    /// The step is done when the socket of the server has accepted all bytes.
    ///
    /// - Parameter data: The bytes to send.
    /// - Returns: The new step.
    public static func bytes(_ data: Data) -> Self { Self(kind: .send(data)) }

    /// Creates a step that sends text in UTF-8.
    ///
    /// The step is done when the socket of the server has accepted all bytes.
    ///
    /// - Parameter text: The text to send. HTTP lines end with `\r\n`.
    /// - Returns: The new step.
    public static func text(_ text: String) -> Self { .bytes(text) }

    /// Creates a step that sends text in small pieces, with a pause after each piece.
    ///
    /// - Parameters:
    ///   - text: The text to send, in UTF-8.
    ///   - piece: The number of bytes in a piece; 1 by default.
    ///   - interval: The length of the pause after each piece.
    /// - Returns: The new step.
    public static func drip(_ text: String, piece: Int = 1, every interval: Duration) -> Self {
        Self(kind: .drip(Data(text.utf8), piece: max(1, piece), interval: interval))
    }

    /// Creates a step that pauses the script.
    ///
    /// - Parameter duration: The length of the pause.
    /// - Returns: The new step.
    public static func pause(_ duration: Duration) -> Self { Self(kind: .pause(duration)) }

    /// Creates a step that waits until a closure returns.
    ///
    /// - Parameter condition: The closure, which can wait for any condition. The closure runs on the global executor.
    ///   Its task is cancelled when the client disconnects or the server stops.
    /// - Returns: The new step.
    public static func wait(_ condition: @escaping @Sendable () async -> Void) -> Self { Self(kind: .wait(condition)) }

    /// A step that reads the head of the next request, and records the request without a body.
    public static let waitForHead = Self(kind: .waitForHead)

    /// A step that reads the next request with its body, and records the request.
    ///
    /// If ``waitForHead`` has already read the head of the request, this step reads only the rest of the same request.
    ///
    /// The server does not send 100 (Continue), even if the client expects this response. If the client does not send a
    /// valid request, the server closes the connection.
    public static let waitForRequest = Self(kind: .waitForRequest)

    /// Creates a step that reads and discards a number of bytes.
    ///
    /// - Parameter count: The number of bytes to read.
    /// - Returns: The new step.
    public static func waitForBytes(_ count: Int) -> Self { Self(kind: .waitForBytes(count)) }

    /// A step that reads and discards bytes until the client has closed its sending side.
    public static let waitForClose = Self(kind: .waitForClose)

    /// Creates a step that passes the bytes of the client to a closure.
    ///
    /// - Parameter receive: The closure, which receives the next bytes, and whether the client has closed its sending
    ///   side. It returns whether the step is done. It runs on the server's thread, so it must not block. The step is
    ///   also done when the client has closed its sending side.
    /// - Returns: The new step.
    package static func read(_ receive: @escaping @Sendable (_ bytes: [UInt8], _ isEnd: Bool) -> Bool) -> Self {
        Self(kind: .read(receive))
    }

    /// A step that closes the sending side of the server (`FIN`); later steps can still read.
    public static let halfClose = Self(kind: .halfClose)

    /// A step that resets the connection (`RST`); must be the last step.
    public static let reset = Self(kind: .reset)

    /// A step that closes the connection (`FIN`); must be the last step.
    ///
    /// The server first reads the bytes that the client has sent so far. If these bytes remained unread, the system
    /// would reset the connection instead.
    public static let close = Self(kind: .close)

    /// A step that keeps the connection open and reads no bytes; must be the last step.
    ///
    /// The step ends when the client closes the connection or the server stops.
    public static let stall = Self(kind: .stall)

    /// A step that lets the routes handle all further requests of the connection; must be the last step.
    public static let serve = Self(kind: .serve)
}

/// The position in a script; a value type without I/O.
struct ScriptCursor {
    /// The next action on the connection.
    enum Action {
        /// Call `next` again.
        case nextStep
        /// Wait until bytes arrive, bytes have been sent, or the awaited condition holds.
        case nothing
        case send(Data, thenPause: Duration?)
        case pause(Duration)
        case wait(@Sendable () async -> Void)
        case record(RequestHead, body: Data, trailers: HTTPHeaders)
        case halfClose
        case serve
        /// Close the connection after reading the bytes that the client has sent so far.
        case closeAfterReading
        case close
        case reset
    }

    private let steps: [LocalServer.Script.Step]
    private var index = 0

    /// Whether the current step has begun.
    private var hasBegun = false
    /// Whether the pause or the condition of the current step is over.
    var isSatisfied = false
    /// The number of bytes that the current step has processed.
    private var progress = 0
    /// The request whose head has been read, and whether the request was already recorded without its body.
    private var request: (head: RequestHead, body: Data, isRecorded: Bool)?
    /// The WebSocket of the current step.
    private var socket: Locked<WebSocketServerSide>?
    /// Whether a message of the WebSocket is being answered, and whether the last bytes for it were not sent yet.
    private var (isAnswering, isSending) = (false, false)

    init(_ steps: [LocalServer.Script.Step]) {
        self.steps = steps
    }

    /// The current step; `nil` after the last step.
    private var step: LocalServer.Script.Step.Kind? { index < steps.count ? steps[index].kind : nil }

    /// Whether the current step needs bytes from the client to continue.
    var waitsForBytes: Bool {
        switch step {
        case .waitForHead, .waitForRequest, .waitForBytes, .waitForClose, .read: true
        // The client waits while a message is answered.
        case .answerWebSocket: !isAnswering && !isSending
        default: false
        }
    }

    /// Whether the current step waits for the client to disconnect.
    var isStalled: Bool { if case .stall = step { true } else { false } }

    /// Returns the next action of the current step; `isSent` is `true` if all bytes have been sent.
    mutating func next(reading parser: inout RequestParser, isSent: Bool, peerHasEnded: Bool) -> Action {
        // A disconnected client cannot send the awaited bytes.
        let awaited = peerHasEnded ? Action.close : .nothing
        switch step {
        case .send(let bytes):
            if markStarted() { return .send(bytes, thenPause: nil) }
            return isSent ? advanced(.nextStep) : .nothing
        case .drip(let bytes, let piece, let interval):
            guard markStarted() || isSatisfied else { return .nothing }
            guard progress < bytes.count else { return advanced(.nextStep) }
            let end = min(bytes.count, progress + piece)
            defer { (progress, isSatisfied) = (end, false) }
            return .send(bytes[progress..<end], thenPause: interval)
        case .pause(let duration):
            if markStarted() { return .pause(duration) }
            return isSatisfied ? advanced(.nextStep) : .nothing
        case .wait(let condition):
            if markStarted() { return .wait(condition) }
            return isSatisfied ? advanced(.nextStep) : .nothing
        case .waitForHead: return readRequest(&parser, headOnly: true) ?? awaited
        case .waitForRequest: return readRequest(&parser, headOnly: false) ?? awaited
        case .waitForBytes(let count):
            progress += parser.takeRawBytes(count - progress).count
            return progress >= count ? advanced(.nextStep) : awaited
        case .waitForClose:
            _ = parser.takeRawBytes(.max)
            return peerHasEnded ? advanced(.nextStep) : .nothing
        case .read(let receive):
            let isDone = receive(Array(parser.takeRawBytes(.max)), peerHasEnded)
            return isDone || peerHasEnded ? advanced(.nextStep) : .nothing
        case .halfClose: return advanced(.halfClose)
        case .reset: return .reset
        case .close, nil: return .closeAfterReading
        case .stall: return awaited
        case .serve: return .serve
        case .answerWebSocket(let script):
            guard isSent, !isAnswering || isSatisfied else { return .nothing }
            return answerWebSocket(script, reading: &parser) ?? awaited
        }
    }

    /// Returns the next action of a WebSocket; returns `nil` if more bytes are needed.
    private mutating func answerWebSocket(_ script: WebSocketScript, reading parser: inout RequestParser) -> Action? {
        let socket = self.socket ?? Locked(WebSocketServerSide(script))
        self.socket = socket
        (isAnswering, isSending, isSatisfied) = (false, false, false)
        let bytes = parser.takeRawBytes(.max)
        switch socket.withLock({ $0.next(adding: bytes) }) {
        case .send(let bytes):
            isSending = true
            return .send(bytes, thenPause: nil)
        case .reply(let message):
            isAnswering = true
            return .wait {
                let replies = await script.replies(to: message)
                socket.withLock { $0.answer(replies) }
            }
        case .end: return advanced(.nextStep)
        case nil: return nil
        }
    }

    /// Reads a request or its head; returns `nil` until it is complete.
    private mutating func readRequest(_ parser: inout RequestParser, headOnly: Bool) -> Action? {
        while true {
            switch parser.next() {
            case .needsBytes: return nil
            case .head(let head):
                request = (head, Data(), isRecorded: headOnly)
                if headOnly { return advanced(.record(head, body: Data(), trailers: [:])) }
            case .body(let piece):
                if request?.isRecorded == false { request?.body.append(contentsOf: piece) }
            case .end(let trailers):
                let request = request.take()
                if !headOnly { _ = advanced(.nextStep) }
                if let request, !request.isRecorded {
                    return .record(request.head, body: request.body, trailers: trailers)
                }
                if !headOnly { return .nextStep }
            case .failed: return .close
            }
        }
    }

    /// Marks the current step as begun; returns whether this is the first call for the step.
    private mutating func markStarted() -> Bool {
        defer { hasBegun = true }
        return !hasBegun
    }

    /// Moves to the next step and returns an action.
    private mutating func advanced(_ action: Action) -> Action {
        index += 1
        (hasBegun, isSatisfied, progress, socket) = (false, false, 0, nil)
        return action
    }
}
