public import FoundationEssentials

/// The use that a client of the benchmark makes of each request.
public enum Workload: String, Sendable {
    /// Collects the body of the response, or decodes it as JSON.
    case requests
    /// Receives the body as chunks, and only counts their bytes.
    case downloadChunks = "download-chunks"
    /// Has the body written to a file.
    case downloadFile = "download-file"
    /// Sends a file.
    case uploadFile = "upload-file"
    /// Sends an async sequence of chunks of 64 KiB, the length of which is known.
    case uploadSequence = "upload-sequence"
    /// Decodes each line of the body as an ``Event``, one after the other, and counts them.
    case lines
    /// The same with lines that are in memory already, each an element of an array.
    case linesInMemory = "lines-in-memory"
    /// Sends messages on WebSockets, each when the one before has come back.
    case socketEcho = "websocket-echo"
    /// Sends binary messages of 64 KiB on one WebSocket.
    case socketSend = "websocket-send"
    /// Receives such messages.
    case socketReceive = "websocket-receive"
    /// Opens WebSockets, and leaves them open.
    case socketIdle = "websocket-idle"

    /// Whether the workload uses WebSockets.
    public var usesSockets: Bool { rawValue.hasPrefix("websocket") }
}

/// One request of a client.
public struct Job: Sendable {
    /// Where to.
    public let url: URL
    /// The bytes of the body, or its lines.
    public let length: Int
    /// The file that is sent or written, or that has the lines.
    public let file: URL?
}
