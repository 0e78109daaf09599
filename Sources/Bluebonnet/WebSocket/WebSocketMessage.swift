public import FoundationEssentials

/// A message of a WebSocket connection.
public enum WebSocketMessage: Hashable, Sendable {
    /// A text message.
    case text(String)
    /// A binary message.
    case binary(Data)

    /// The bytes of the message; the ones of a text are UTF-8.
    package var payload: Data {
        switch self {
        case .text(let text): Data(text.utf8)
        case .binary(let data): data
        }
    }

    /// Decodes the bytes of the message.
    func decoded<Value: Decodable & Sendable>(by decoder: any DataDecoder) throws(RequestError) -> Value {
        try RequestError.wrapping(.serialization(.decodingFailed)) { try decoder.decode(Value.self, from: payload) }
    }
}

/// A piece of a message of a WebSocket connection.
///
/// The pieces need not be the fragments that the server has sent. The last piece of a message is marked, and only this
/// piece may be empty.
public enum WebSocketPiece: Hashable, Sendable {
    /// A piece of a text message; a Unicode scalar is never split between two pieces.
    case text(String, isFinal: Bool)
    /// A piece of a binary message.
    case binary(Data, isFinal: Bool)

    /// The number of bytes.
    var size: Int {
        switch self {
        case .text(let text, _): text.utf8.count
        case .binary(let data, _): data.count
        }
    }
}

/// The type of a message.
enum WebSocketMessageKind: Hashable, Sendable { case text, binary }

/// The next thing that was received.
enum WebSocketEvent: Equatable {
    case piece(WebSocketPiece)
    /// Some frames were read, and there may be more.
    case nothing
    case ping(Data)
    case pong(Data)
    /// A close frame, after which there are no more events.
    case close(WebSocketClose)
    /// A violation of the protocol, after which there are no more events.
    case violation(WebSocketViolation)
}

/// Joins the pieces of messages, and limits their size.
struct WebSocketMessageCollector {
    /// The maximum number of bytes of a message after decoding.
    let maximumSize: Int
    private var text = ""
    private var data = Data()

    init(maximumSize: Int = .max) { self.maximumSize = maximumSize }

    /// Adds a piece, and returns the message if it is complete.
    mutating func collect(_ piece: WebSocketPiece) throws(WebSocketViolation) -> WebSocketMessage? {
        try check(piece.size + text.utf8.count + data.count)
        switch piece {
        case .text(let piece, let isFinal):
            text += piece
            guard isFinal else { return nil }
            defer { text = "" }
            return .text(text)
        case .binary(let piece, let isFinal):
            // The only piece of a message is not copied.
            if data.isEmpty {
                data = piece
            } else if piece.count >= data.count / 4, let joined = RecycledBuffers.frames.joined(data, piece) {
                data = joined
            } else {
                data.append(piece)
            }
            guard isFinal else { return nil }
            defer { data = Data() }
            return .binary(data)
        }
    }

    /// Refuses a message that has at least this number of bytes, if it is too big.
    func check(_ size: Int) throws(WebSocketViolation) {
        guard size > maximumSize else { return }
        throw WebSocketViolation(code: .messageTooBig, reason: "a message is longer than \(maximumSize) bytes")
    }
}
