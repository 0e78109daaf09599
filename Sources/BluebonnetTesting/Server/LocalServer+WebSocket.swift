public import Bluebonnet
public import FoundationEssentials

/// Steps of a WebSocket (RFC 6455) for the script of a route.
extension LocalServer.Script.Step {
    /// Creates a step that accepts the WebSocket of a request with a 101 response.
    ///
    /// - Parameters:
    ///   - request: The request with the client's handshake.
    ///   - headers: Additional header fields, such as `Sec-WebSocket-Protocol`; none by default.
    /// - Returns: The new step.
    public static func acceptWebSocket(_ request: LocalServer.Request, headers: HTTPHeaders = [:]) -> Self {
        let accept = WebSocketRequest.accept(for: request.headers["Sec-WebSocket-Key"] ?? "")
        let fields = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        return .text(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: \(accept)\r\n\(fields)\r\n")
    }

    /// Creates a step that sends a frame without a mask.
    ///
    /// - Parameters:
    ///   - first: The first byte: the final bit, the reserved bits and the opcode, such as `0x81` for a text message.
    ///   - payload: The payload.
    /// - Returns: The new step.
    public static func webSocketFrame(_ first: UInt8, _ payload: Data) -> Self {
        var frame = Data([first])
        let size = payload.count < 126 ? 0 : payload.count < 65_536 ? 2 : 8
        frame.append(size == 0 ? UInt8(payload.count) : size == 2 ? 126 : 127)
        for byte in (0..<size).reversed() { frame.append(UInt8(truncatingIfNeeded: payload.count >> (8 * byte))) }
        return .bytes(frame + payload)
    }

    /// Creates a step that sends a message.
    ///
    /// - Parameter message: The message.
    /// - Returns: The new step.
    public static func webSocketMessage(_ message: WebSocketMessage) -> Self {
        switch message {
        case .text(let text): .webSocketFrame(0x81, Data(text.utf8))
        case .binary(let data): .webSocketFrame(0x82, data)
        }
    }

    /// Creates a step that sends a close frame.
    ///
    /// - Parameters:
    ///   - code: The close code.
    ///   - reason: The reason; empty by default.
    /// - Returns: The new step.
    public static func webSocketClose(_ code: WebSocketCloseCode, reason: String = "") -> Self {
        let bytes = [UInt8(code.rawValue >> 8), UInt8(truncatingIfNeeded: code.rawValue)]
        return .webSocketFrame(0x88, Data(bytes) + Data(reason.utf8))
    }

    /// Creates a step that waits for an unfragmented frame of the client, whose payload has the given size, and discards
    /// it.
    ///
    /// - Parameter size: The size of the payload in bytes.
    /// - Returns: The new step.
    public static func waitForWebSocketFrame(ofSize size: Int) -> Self {
        .waitForBytes(2 + (size < 126 ? 0 : size < 65_536 ? 2 : 8) + 4 + size)
    }
}
