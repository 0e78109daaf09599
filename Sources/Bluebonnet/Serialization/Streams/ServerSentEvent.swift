public import FoundationEssentials

/// A server-sent event (WHATWG HTML §9.2).
public struct ServerSentEvent: Hashable, Sendable {
    /// The type of the event; `message` if the server does not send a type.
    public var event: String

    /// The data of the event.
    ///
    /// If the event has several `data` fields, their values are joined with line feeds.
    public var data: String

    /// The last event ID: the ID of this event or, if this event has no ID, of an earlier event.
    ///
    /// The ID is empty if the server has not sent an ID, or if the latest ID was empty. When a client reconnects, it
    /// sends the last event ID in the `Last-Event-ID` field. The server can then continue with the event after this ID.
    /// The parser ignores an ID that contains NUL or has more than 8,000 bytes.
    public var id: String

    /// The new delay before the client reconnects, or `nil` if the event does not set the delay.
    public var retry: Duration?

    /// Creates an event.
    ///
    /// - Parameters:
    ///   - event: The type of the event; `message` by default.
    ///   - data: The data of the event.
    ///   - id: The last event ID; empty by default.
    ///   - retry: The new delay before the client reconnects; `nil` by default.
    public init(event: String = "message", data: String, id: String = "", retry: Duration? = nil) {
        self.event = event
        self.data = data
        self.id = id
        self.retry = retry
    }

    /// Decodes the data of the event, for example from JSON.
    ///
    /// The method runs synchronously on the calling thread.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder for the data; a `JSONDecoder` by default.
    /// - Returns: The decoded value.
    /// - Throws: ``RequestError`` with `.serialization(.decodingFailed)` if the decoder throws an error. The decoder's
    ///   error becomes the underlying error.
    public func decodeData<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder()
    ) throws(RequestError) -> Value {
        try RequestError.wrapping(
            .serialization(.decodingFailed), detail: "the data of an event \(event.debugDescription)"
        ) { try decoder.decode(type, from: Data(data.utf8)) }
    }
}

/// Parses the bytes of an event stream into events (WHATWG HTML §9.2.6); an event may span several chunks.
///
/// Add a chunk with ``append(_:)``, and then call ``next()`` until it returns `nil`. A blank line completes an event.
/// The parser drops an incomplete event at the end of the stream. It replaces malformed UTF-8 with U+FFFD, and skips a
/// byte order mark at the start.
package struct ServerSentEventParser {
    /// An event, or the text of a comment; an ``EventSource`` has the same for its readers.
    enum Entry {
        case event(ServerSentEvent)
        case comment(String)
    }

    private let limit: Int
    private var lines: LineFramer
    private var block = ServerSentEventBlock()
    private var failure: RequestError?

    /// The last event ID, for the `Last-Event-ID` field of the next connection.
    package private(set) var lastEventID: String

    /// The reconnection time, or `nil` if the stream has not set it.
    ///
    /// The parser sets the time as soon as it has parsed the `retry` field, before the event is complete.
    package private(set) var reconnectionTime: Duration?

    /// Creates a parser for the stream of one connection.
    ///
    /// - Parameters:
    ///   - lastEventID: The last event ID of the previous connection. Events that arrive before the first new ID have
    ///     this ID.
    ///   - limit: The maximum size in bytes of a line, and of the data of an event; 16 MiB by default.
    package init(lastEventID: String = "", limit: Int = LineFramer.defaultLimit) {
        self.limit = limit
        self.lastEventID = lastEventID
        lines = LineFramer(limit: limit, lineEnd: .any)
    }

    /// Adds the next bytes of the stream.
    ///
    /// - Parameter bytes: The next bytes of the stream.
    package mutating func append(_ bytes: Data) {
        guard failure == nil else { return }
        lines.append(bytes)
    }

    /// Returns the next event, without the comments before it.
    ///
    /// - Returns: The event, or `nil` if more bytes are needed.
    /// - Throws: `.invalidResponse(.bodyTooLarge(limit:))` if a line or the data of an event exceeds the limit. Later
    ///   calls throw this error again.
    package mutating func next() throws(RequestError) -> ServerSentEvent? {
        while let entry = try nextEntry() { if case .event(let event) = entry { return event } }
        return nil
    }

    /// Returns the next event or comment; see ``next()``.
    mutating func nextEntry() throws(RequestError) -> Entry? {
        if let failure { throw failure }
        do throws(RequestError) {
            while try lines.advance() {
                switch try readLine() {
                case .field: continue
                case .comment(let comment): return .comment(comment)
                case .blank: if let event = blockEnded() { return .event(event) }
                }
            }
            return nil
        } catch {
            failure = error
            block = ServerSentEventBlock()
            throw error
        }
    }

    private enum Line {
        case field
        case comment(String)
        case blank
    }

    private static let maximumCommentLength = 1024

    /// Reads the current line, and adds its field to the block.
    private mutating func readLine() throws(RequestError) -> Line {
        let isFirst = lines.count == 1
        let limit = limit
        let read = try lines.withLine { bytes throws(RequestError) in
            let line = bytes.extracting(droppingFirst: isFirst ? ByteOrderMark.utf8Length(in: bytes) : 0)
            guard !line.isEmpty else { return Line.blank }
            if line[0] == UInt8(ascii: ":") {
                let start = line.count > 1 && line[1] == UInt8(ascii: " ") ? 2 : 1
                let end = min(line.count, Self.maximumCommentLength)
                return .comment(String(repairing: line.extracting(start..<end)))
            }
            try block.lineReceived(line, limit: limit)
            return .field
        }
        reconnectionTime = block.retry ?? reconnectionTime
        return read
    }

    /// Ends the block at a blank line, and returns its event if the block has data.
    private mutating func blockEnded() -> ServerSentEvent? {
        let ended = block
        block = ServerSentEventBlock()
        lastEventID = ended.id ?? lastEventID
        return ended.data.map { data in
            ServerSentEvent(
                event: ended.event.isEmpty ? "message" : ended.event, data: data, id: lastEventID, retry: ended.retry)
        }
    }
}

/// The fields of an event stream since the last blank line (WHATWG HTML §9.2.6).
private struct ServerSentEventBlock {
    /// The values of the `data` fields, joined with line feeds, or `nil` before the first `data` field.
    private(set) var data: String?
    /// The type of the event, which is empty if there is no `event` field.
    private(set) var event = ""
    /// The new last event ID, or `nil` if the block does not set it.
    private(set) var id: String?
    /// The new reconnection time, or `nil` if the block does not set it.
    private(set) var retry: Duration?

    /// The maximum length of an ID in bytes.
    ///
    /// With this limit, the header field does not exceed the 8,190 bytes that most servers accept.
    private static let idLimit = 8000

    /// Adds a line that is neither blank nor a comment.
    mutating func lineReceived(_ line: Span<UInt8>, limit: Int) throws(RequestError) {
        let size = line.count
        let colon = ByteSearch.firstOffset(of: UInt8(ascii: ":"), in: 0..<size, of: line) ?? size
        // The names of all known fields have 2 to 5 bytes.
        guard (2...5).contains(colon) else { return }
        var start = min(colon + 1, size)
        if start < size, line[start] == UInt8(ascii: " ") { start += 1 }
        let value = line.extracting(start..<size)
        switch String(repairing: line.extracting(0..<colon)) {
        case "data": try append(data: value, limit: limit)
        case "event": event = String(repairing: value)
        case "id":
            // An ID that cannot be sent in a header field is ignored. The standard only ignores an ID with NUL.
            guard value.count <= Self.idLimit, ByteSearch.firstOffset(of: 0, in: value.indices, of: value) == nil else {
                return
            }
            id = String(repairing: value)
        case "retry":
            // The value must consist of digits. A number beyond 64 bits is ignored.
            retry = Int64(digits: String(repairing: value)).map { .milliseconds($0) } ?? retry
        default: break
        }
    }

    private mutating func append(data value: Span<UInt8>, limit: Int) throws(RequestError) {
        let held = data.map { $0.utf8.count + 1 } ?? 0
        guard value.count <= limit - held else {
            throw RequestError(
                .invalidResponse(.bodyTooLarge(limit: Int64(limit))), detail: "an event of it is longer than the limit")
        }
        let text = String(repairing: value)
        guard data != nil else {
            data = text
            return
        }
        data?.append("\n")
        data?.append(text)
    }
}
