public import FoundationEssentials

/// A message of a WebSocket connection.
public enum WebSocketMessage: Hashable, Sendable {
    /// A text.
    case text(String)
    /// Bytes.
    case binary(Data)

    /// The bytes of the message; the ones of a text are UTF-8.
    package var data: Data {
        switch self {
        case .text(let text): Data(text.utf8)
        case .binary(let data): data
        }
    }
}

/// The type of a message.
enum WebSocketMessageKind: Hashable, Sendable { case text, binary }

/// The next thing that was received.
enum WebSocketEvent: Equatable {
    /// A piece of a text, which consists of whole characters; it is empty only at the end of the message.
    case text(String, isFinal: Bool)
    /// A piece of a binary message; it is empty only at the end of the message.
    case binary(Data, isFinal: Bool)
    case ping(Data)
    case pong(Data)
    /// A close frame, after which there are no more events.
    case close(WebSocketClose)
    /// A violation of the protocol, after which there are no more events.
    case violation(WebSocketViolation)
}

/// Joins the pieces of messages; ``WebSocketReceiver`` limits their size.
struct WebSocketMessageCollector {
    private var text = ""
    private var data = Data()

    /// Adds a piece, and returns the message if it is complete.
    mutating func collect(_ event: WebSocketEvent) -> WebSocketMessage? {
        switch event {
        case .text(let piece, let isFinal):
            text += piece
            guard isFinal else { return nil }
            defer { text = "" }
            return .text(text)
        case .binary(let piece, let isFinal):
            // The only piece of a message is not copied.
            if data.isEmpty { data = piece } else { data.append(piece) }
            guard isFinal else { return nil }
            defer { data = Data() }
            return .binary(data)
        case .ping, .pong, .close, .violation: return nil
        }
    }
}
