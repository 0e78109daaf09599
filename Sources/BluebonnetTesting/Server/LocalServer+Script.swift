import Bluebonnet
public import FoundationEssentials

extension LocalServer {
    /// The steps that a server performs on a connection, byte for byte.
    ///
    /// With a script, a server can misbehave: it can send a malformed head, stop in the middle of a body, send very
    /// slowly, or reset the connection. A script replaces the answer of a route
    /// (``Response/script(_:)-(LocalServer.Script.Step...)``) or handles a whole connection (the `script` of a new
    /// ``LocalServer``).
    ///
    /// Each step begins when the previous step is done. After the last step the connection is closed, as by
    /// ``Step/close``. The script ends when the client disconnects.
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
                case halfClose
                case reset
                case close
                case stall
                case serve
            }

            let kind: Kind
        }
    }
}

extension LocalServer.Script.Step {
    /// Sends bytes; the step is done when the socket has accepted all of them.
    ///
    /// - Parameter bytes: The bytes to send.
    /// - Returns: The new step.
    package static func bytes(_ bytes: [UInt8]) -> Self { Self(kind: .send(Data(bytes))) }

    /// Sends text in UTF-8; the same as ``text(_:)``.
    ///
    /// - Parameter text: The text to send. HTTP lines end with `\r\n`.
    /// - Returns: The new step.
    package static func bytes(_ text: String) -> Self { Self(kind: .send(Data(text.utf8))) }

    /// Sends bytes; the step is done when the socket has accepted all of them.
    ///
    /// - Parameter data: The bytes to send.
    /// - Returns: The new step.
    public static func bytes(_ data: Data) -> Self { Self(kind: .send(data)) }

    /// Sends text in UTF-8; the step is done when the socket has accepted all of it.
    ///
    /// - Parameter text: The text to send. HTTP lines end with `\r\n`.
    /// - Returns: The new step.
    public static func text(_ text: String) -> Self { .bytes(text) }

    /// Sends text in small pieces, with a pause after each piece.
    ///
    /// - Parameters:
    ///   - text: The text to send, in UTF-8.
    ///   - piece: The number of bytes in a piece; 1 by default.
    ///   - interval: The length of the pause after each piece.
    /// - Returns: The new step.
    public static func drip(_ text: String, piece: Int = 1, every interval: Duration) -> Self {
        Self(kind: .drip(Data(text.utf8), piece: max(1, piece), interval: interval))
    }

    /// Pauses the script.
    ///
    /// - Parameter duration: The length of the pause.
    /// - Returns: The new step.
    public static func pause(_ duration: Duration) -> Self { Self(kind: .pause(duration)) }

    /// Waits for a closure to return, for example for a condition outside the server.
    ///
    /// - Parameter condition: The closure. It runs on the global pool, and is cancelled when the client disconnects or
    ///   the server stops.
    /// - Returns: The new step.
    public static func wait(_ condition: @escaping @Sendable () async -> Void) -> Self { Self(kind: .wait(condition)) }

    /// Reads the head of the next request, but not its body; the request is recorded without a body.
    public static let waitForHead = Self(kind: .waitForHead)

    /// Reads the next request with its body, or the rest of a request whose head was read, and records it.
    ///
    /// 100 (Continue) is not sent, even if the client expects it. The connection is closed if the client sends anything
    /// other than a request.
    public static let waitForRequest = Self(kind: .waitForRequest)

    /// Reads a number of bytes, with any content.
    ///
    /// - Parameter count: The number of bytes to read.
    /// - Returns: The new step.
    public static func waitForBytes(_ count: Int) -> Self { Self(kind: .waitForBytes(count)) }

    /// Reads and drops bytes until the client has closed its side.
    public static let waitForClose = Self(kind: .waitForClose)

    /// Closes the sending side (`FIN`) and continues with the next step; the server can still read.
    public static let halfClose = Self(kind: .halfClose)

    /// Aborts the connection (`RST`); must be the last step.
    public static let reset = Self(kind: .reset)

    /// Closes the connection (`FIN`); must be the last step.
    ///
    /// The bytes that the client has sent so far are read first, because the system would otherwise reset the
    /// connection.
    public static let close = Self(kind: .close)

    /// Keeps the connection open without reading, until the client closes it or the server stops; must be the last
    /// step.
    public static let stall = Self(kind: .stall)

    /// Serves the connection normally, with the routes; must be the last step.
    public static let serve = Self(kind: .serve)
}

/// The position in a script and the next action; a pure value.
struct ScriptCursor {
    /// The next action on the connection.
    enum Action {
        /// Call `next` again.
        case nextStep
        /// Do nothing until bytes arrive, bytes have been sent, or an awaited condition holds.
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
    /// Whether the condition that the current step waits for, other than bytes, holds.
    var isSatisfied = false
    /// The number of bytes that the current step has processed.
    private var progress = 0
    /// The request whose head has been read, and whether it was recorded without its body.
    private var request: (head: RequestHead, body: Data, isRecorded: Bool)?

    init(_ steps: [LocalServer.Script.Step]) {
        self.steps = steps
    }

    /// The current step; `nil` after the last.
    private var step: LocalServer.Script.Step.Kind? { index < steps.count ? steps[index].kind : nil }

    /// Whether the current step needs bytes from the client to continue.
    var waitsForBytes: Bool {
        switch step {
        case .waitForHead, .waitForRequest, .waitForBytes, .waitForClose: true
        default: false
        }
    }

    /// Whether the current step waits for the client to disconnect.
    var isStalled: Bool { if case .stall = step { true } else { false } }

    /// Advances the current step as far as possible; `isSent` is `true` if no bytes are waiting to be sent.
    mutating func next(reading parser: inout RequestParser, isSent: Bool, peerHasEnded: Bool) -> Action {
        // A disconnected client cannot send the awaited bytes any more.
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
        case .halfClose: return advanced(.halfClose)
        case .reset: return .reset
        case .close, nil: return .closeAfterReading
        case .stall: return awaited
        case .serve: return .serve
        }
    }

    /// Reads a request or its head; `nil` until it is complete.
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

    /// Marks the current step as begun; returns whether it had not begun before.
    private mutating func markStarted() -> Bool {
        defer { hasBegun = true }
        return !hasBegun
    }

    /// Moves to the next step and returns an action.
    private mutating func advanced(_ action: Action) -> Action {
        index += 1
        (hasBegun, isSatisfied, progress) = (false, false, 0)
        return action
    }
}
