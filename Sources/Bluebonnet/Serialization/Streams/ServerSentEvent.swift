public import FoundationEssentials

/// One event of an event stream (WHATWG HTML, "Server-sent events").
public struct ServerSentEvent: Hashable, Sendable {
    /// The kind of the event; `message` when the server named none.
    public var event: String

    /// The data: the values of the event's `data` fields, joined with line feeds.
    public var data: String

    /// The last event ID as of this event: its own, or that of the last event before it that had one.
    ///
    /// Empty when there was none, or when the server took it back with an empty one. A reconnection asks the server to
    /// resume after it, in the field `Last-Event-ID`; so one of more than 8,000 bytes or with a NUL, which could not be
    /// sent back, does not count.
    public var id: String

    /// How long to wait before reconnecting from now on, if the server said so within this event.
    public var retry: Duration?

    /// Creates an event.
    ///
    /// - Parameters:
    ///   - event: The kind of the event.
    ///   - data: The data.
    ///   - id: The last event ID.
    ///   - retry: How long to wait before reconnecting.
    public init(event: String = "message", data: String, id: String = "", retry: Duration? = nil) {
        self.event = event
        self.data = data
        self.id = id
        self.retry = retry
    }

    /// Decodes the data, which is JSON in many streams.
    ///
    /// Runs where it is called.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder; JSON by default.
    /// - Returns: The decoded value.
    /// - Throws: ``RequestError`` `.serialization(.decodingFailed)` with what the decoder threw as the underlying error.
    public func decodeData<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder()
    ) throws(RequestError) -> Value {
        do {
            return try decoder.decode(type, from: Data(data.utf8))
        } catch {
            throw RequestError(
                .serialization(.decodingFailed), detail: "the data of an event \(event.debugDescription)",
                underlying: error)
        }
    }
}

/// Makes events of the bytes of an event stream, whatever the chunks are that they come in (WHATWG HTML §9.2.6).
///
/// Feed it with ``append(_:)``, then call ``next()`` until there is no event. An event is complete with the blank line
/// after it; one that the stream's end cuts off is never handed out. What is malformed as UTF-8 is U+FFFD, and a byte
/// order mark at the very beginning is skipped.
package struct ServerSentEventParser {
    private let limit: Int
    private var lines: LineFramer
    private var block = ServerSentEventBlock()
    private var failure: RequestError?

    /// The ID for the field `Last-Event-ID` of a reconnection.
    package private(set) var lastEventID: String

    /// How long to wait before reconnecting, if the stream has said so; it counts at once, before its event is complete.
    package private(set) var reconnectionTime: Duration?

    /// Creates a parser for one connection's stream.
    ///
    /// - Parameters:
    ///   - lastEventID: The last event ID of the connection before this one. Events without an ID of their own have it,
    ///     as in browsers.
    ///   - limit: How many bytes an event's data may have, and each line.
    package init(lastEventID: String = "", limit: Int = LineFramer.defaultLimit) {
        self.limit = limit
        self.lastEventID = lastEventID
        lines = LineFramer(limit: limit, lineEnd: .any)
    }

    /// Adds the next bytes of the stream.
    ///
    /// - Parameter bytes: The bytes.
    package mutating func append(_ bytes: Data) {
        guard failure == nil else { return }
        lines.append(bytes)
    }

    /// Returns the next event, if it is complete.
    ///
    /// - Returns: The event, or `nil` when more bytes are needed.
    /// - Throws: `.invalidResponse(.bodyTooLarge(limit:))` when a line or the data of an event is longer than the limit;
    ///   then again for each further call.
    package mutating func next() throws(RequestError) -> ServerSentEvent? {
        if let failure { throw failure }
        do throws(RequestError) {
            while try lines.advance() {
                guard try isBlankAfterReadingLine() else { continue }
                if let event = blockEnded() { return event }
            }
            return nil
        } catch {
            failure = error
            block = ServerSentEventBlock()
            throw error
        }
    }

    /// Has the block take in the current line, unless it is blank, and returns whether it is.
    private mutating func isBlankAfterReadingLine() throws(RequestError) -> Bool {
        let isFirst = lines.count == 1
        let limit = limit
        let isBlank = try lines.withLine { bytes throws(RequestError) in
            let line = bytes.extracting(droppingFirst: isFirst ? ByteOrderMark.utf8Length(in: bytes) : 0)
            guard !line.isEmpty else { return true }
            try block.lineReceived(line, limit: limit)
            return false
        }
        reconnectionTime = block.retry ?? reconnectionTime
        return isBlank
    }

    /// Takes the block that a blank line has ended; it is an event if it has data.
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

/// The fields of an event stream since the last blank line, put together line by line (WHATWG HTML §9.2.6).
private struct ServerSentEventBlock {
    /// The lines of data, joined with line feeds; none before the first `data` field, even an empty one.
    private(set) var data: String?
    /// The kind of event; empty when there is no `event` field.
    private(set) var event = ""
    /// The last event ID from the block's end on, if it is a new one.
    private(set) var id: String?
    /// The reconnection time, if it is a new one.
    private(set) var retry: Duration?

    /// How many bytes an ID may have: with it, a field is within the 8,190 bytes that most servers take for a line.
    private static let idLimit = 8000

    /// Takes in a line that is not blank: a field or a comment.
    mutating func lineReceived(_ line: Span<UInt8>, limit: Int) throws(RequestError) {
        let size = line.count
        let colon = ByteSearch.firstOffset(of: UInt8(ascii: ":"), in: 0..<size, of: line) ?? size
        // No field has a longer name; a comment has none.
        guard (2...5).contains(colon) else { return }
        var start = min(colon + 1, size)
        if start < size, line[start] == UInt8(ascii: " ") { start += 1 }
        let value = line.extracting(start..<size)
        switch String(repairing: line.extracting(0..<colon)) {
        case "data": try append(data: value, limit: limit)
        case "event": event = String(repairing: value)
        case "id":
            // An ID that could not be sent back in a field is not one; so the standard has it for one with a NUL.
            guard value.count <= Self.idLimit, ByteSearch.firstOffset(of: 0, in: value.indices, of: value) == nil else {
                return
            }
            id = String(repairing: value)
        case "retry":
            // Only digits count; a number beyond 64 bits is ignored.
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
