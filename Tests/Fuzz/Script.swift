/// One thing that the peer does for an exchange.
enum Step: Sendable {
    /// Sends bytes in one piece.
    case send([UInt8])
    /// Sends bytes one by one, with so many milliseconds between.
    case dribble([UInt8], every: Int)
    /// Sends the same bytes again and again, until the client leaves or so many milliseconds are over.
    case flood([UInt8], milliseconds: Int)
    case wait(milliseconds: Int)
    /// Waits until the request is there with its body.
    case awaitRequest
    /// Sends the FIN and keeps reading.
    case halfClose
    case close
    /// Ends TLS with close_notify, as the end of a body without a length requires, and then the connection.
    case end
    case reset
}

/// The expected result of an answer when nothing disturbs it.
enum Expectation: Sendable {
    /// Success, with these bytes as the body.
    case body([UInt8], status: Int)
    /// No success: the answer is not complete.
    case failure
    /// Nothing is certain but what holds for every answer.
    case anything
}

/// What the peer does when a request of an exchange arrives.
struct Script: Sendable {
    var steps: [Step]
    var expectation: Expectation
    /// What the generator had in mind, in a few words.
    var label: String

    /// Whether what it sends leaves the connection fit for others.
    var isClean: Bool

    /// Whether it answers a request for a WebSocket, behind which the client sends frames.
    var isSocket = false

    /// Whether it may send its own stream's bytes to other streams: then bytes cannot be assigned to a stream.
    var misdirects = false

    /// Whether it tells that the request was not processed, so that any method may be sent again.
    var isRefusal = false

    /// Whether the connection ends without a byte and without such a word: only an idempotent request may be sent again.
    var endsSilently: Bool {
        guard !isRefusal else { return false }
        for step in steps {
            switch step {
            case .send, .dribble, .flood: return false
            case .close, .end, .reset, .halfClose: return true
            case .wait, .awaitRequest: continue
            }
        }
        return false
    }

    init(_ label: String, steps: [Step] = [], expectation: Expectation = .anything, isClean: Bool = false) {
        self.label = label
        self.steps = steps
        self.expectation = expectation
        self.isClean = isClean
    }

    /// How many bytes it sends besides the body.
    var headBytes: Int {
        let sent = steps.reduce(0) { sum, step in
            if case .send(let bytes) = step { sum + bytes.count } else { sum }
        }
        guard case .body(let body, _) = expectation else { return sent }
        return sent - body.count
    }

    /// The script for a reader, the bytes of each step up to a number.
    func text(bytes: Int = 500) -> String {
        "[\(label)]\n" + steps.prefix(40).map { "    " + $0.text(bytes: bytes) + "\n" }.joined()
    }
}

extension Step {
    func text(bytes limit: Int) -> String {
        switch self {
        case .send(let bytes): "send \(bytes.count) bytes: \(Self.show(bytes, limit))"
        case .dribble(let bytes, let pause):
            "dribble \(bytes.count) bytes, every \(pause) ms: \(Self.show(bytes, limit))"
        case .flood(let bytes, let milliseconds):
            "flood for \(milliseconds) ms with \(bytes.count) bytes: \(Self.show(bytes, limit))"
        case .wait(let milliseconds): "wait \(milliseconds) ms"
        case .awaitRequest: "await the request's body"
        case .halfClose: "half-close"
        case .close: "close"
        case .end: "end TLS, and close"
        case .reset: "reset"
        }
    }

    private static func show(_ bytes: [UInt8], _ limit: Int) -> String {
        var text = ""
        for byte in bytes.prefix(limit) {
            switch byte {
            case 0x0D: text += "\\r"
            case 0x0A: text += "\\n"
            case 0x5C: text += "\\\\"
            case 0x20...0x7E: text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16)
                text += "\\x" + (digits.utf8.count < 2 ? "0" : "") + digits
            }
        }
        return bytes.count > limit ? text + "…" : text
    }
}
