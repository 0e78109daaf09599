import Bluebonnet
public import FoundationEssentials

extension LocalServer {
    /// What to do on a connection, step by step and byte for byte.
    ///
    /// A script makes a server misbehave: it can send a head that is malformed, stop in the middle of a body, trickle,
    /// reset the connection. It stands for the answer of a route
    /// (``Response/script(_:)-(LocalServer.Script.Step...)``) or for a whole connection
    /// (the `script` of a new ``LocalServer``). Each step begins when the one before it is done; after the last one the
    /// connection is closed as by ``Step/close``. When the client is gone, the script ends.
    public struct Script: Sendable, ExpressibleByArrayLiteral {
        let steps: [Step]

        /// Creates a script.
        ///
        /// - Parameter steps: The steps.
        public init(_ steps: [Step]) {
            self.steps = steps
        }

        /// Creates a script of the literal's elements.
        ///
        /// - Parameter elements: The steps.
        public init(arrayLiteral elements: Step...) {
            steps = elements
        }

        /// One thing to do on a connection.
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
    /// Sends bytes; done when the socket has taken all of them.
    ///
    /// - Parameter bytes: The bytes.
    /// - Returns: The step.
    package static func bytes(_ bytes: [UInt8]) -> Self { Self(kind: .send(Data(bytes))) }

    /// Sends text in UTF-8; the same as ``text(_:)``.
    ///
    /// - Parameter text: The text. Lines of HTTP end with `\r\n`.
    /// - Returns: The step.
    package static func bytes(_ text: String) -> Self { Self(kind: .send(Data(text.utf8))) }

    /// Sends bytes; done when the socket has taken all of them.
    ///
    /// - Parameter data: The bytes.
    /// - Returns: The step.
    public static func bytes(_ data: Data) -> Self { Self(kind: .send(data)) }

    /// Sends text in UTF-8; done when the socket has taken all of it.
    ///
    /// - Parameter text: The text. Lines of HTTP end with `\r\n`.
    /// - Returns: The step.
    public static func text(_ text: String) -> Self { .bytes(text) }

    /// Sends text in small pieces, with a pause after each.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - piece: How many bytes to send at once.
    ///   - interval: How long to pause after each piece.
    /// - Returns: The step.
    public static func drip(_ text: String, piece: Int = 1, every interval: Duration) -> Self {
        Self(kind: .drip(Data(text.utf8), piece: max(1, piece), interval: interval))
    }

    /// Does nothing for a while.
    ///
    /// - Parameter duration: How long.
    /// - Returns: The step.
    public static func pause(_ duration: Duration) -> Self { Self(kind: .pause(duration)) }

    /// Waits for a closure to return, such as for something to happen elsewhere.
    ///
    /// - Parameter condition: Runs on the global pool; cancelled when the client goes away or the server stops.
    /// - Returns: The step.
    public static func wait(_ condition: @escaping @Sendable () async -> Void) -> Self { Self(kind: .wait(condition)) }

    /// Reads the head of the next request, and none of its body; the request is recorded without a body.
    public static let waitForHead = Self(kind: .waitForHead)

    /// Reads the next request with its body, or the rest of the one whose head was read; it is recorded.
    ///
    /// No 100 is sent to a client that expects one. The connection is closed if what comes is not a request.
    public static let waitForRequest = Self(kind: .waitForRequest)

    /// Reads a number of bytes, whatever they are.
    ///
    /// - Parameter count: How many.
    /// - Returns: The step.
    public static func waitForBytes(_ count: Int) -> Self { Self(kind: .waitForBytes(count)) }

    /// Reads and forgets until the client has closed its side.
    public static let waitForClose = Self(kind: .waitForClose)

    /// Closes the sending side (`FIN`), and continues with the next step; reading is still possible.
    public static let halfClose = Self(kind: .halfClose)

    /// Aborts the connection (`RST`); the last step.
    public static let reset = Self(kind: .reset)

    /// Closes the connection (`FIN`); the last step.
    ///
    /// The bytes that the client has sent so far are read first, since the system turns a close with unread bytes into
    /// a reset.
    public static let close = Self(kind: .close)

    /// Holds the connection open and reads nothing, until the client closes it or the server stops; the last step.
    public static let stall = Self(kind: .stall)

    /// Continues as an ordinary server, with the routes; the last step.
    public static let serve = Self(kind: .serve)
}

/// Where a script stands, and what it does next; a pure value.
struct ScriptCursor {
    /// The connection's next action.
    enum Action {
        /// Ask again.
        case nextStep
        /// Nothing, until bytes come or have been sent, or what was waited for has happened.
        case nothing
        case send(Data, thenPause: Duration?)
        case pause(Duration)
        case wait(@Sendable () async -> Void)
        case record(RequestHead, body: Data, trailers: HTTPHeaders)
        case halfClose
        case serve
        /// Close when what the client has sent so far is read.
        case closeAfterReading
        case close
        case reset
    }

    private let steps: [LocalServer.Script.Step]
    private var index = 0

    /// Whether the current step has begun.
    private var hasBegun = false
    /// Whether what the current step waits for, other than bytes, has happened.
    var isSatisfied = false
    /// How many bytes the current step has dealt with.
    private var progress = 0
    /// The request of which the head has been read, and whether it has been recorded with that alone.
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

    /// Whether it waits for the client to go away.
    var isStalled: Bool { if case .stall = step { true } else { false } }

    /// Takes the current step as far as it can go; `isSent` says whether nothing waits to be sent.
    mutating func next(reading parser: inout RequestParser, isSent: Bool, peerHasEnded: Bool) -> Action {
        // What is waited for cannot come any more from a client that is gone.
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

    /// Reads a request, or its head; `nil` until it is there.
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

    /// Notes that the current step begins; says whether it had not before.
    private mutating func markStarted() -> Bool {
        defer { hasBegun = true }
        return !hasBegun
    }

    /// Goes on to the next step, after an action.
    private mutating func advanced(_ action: Action) -> Action {
        index += 1
        (hasBegun, isSatisfied, progress) = (false, false, 0)
        return action
    }
}
