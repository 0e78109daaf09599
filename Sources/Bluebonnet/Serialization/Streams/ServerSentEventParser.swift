package import FoundationEssentials

/// Makes events of the bytes of an event stream, whatever the chunks are that they come in (WHATWG HTML §9.2.6).
///
/// Feed it with ``append(_:)``, then call ``next()`` until there is no event. An event is complete with the blank line
/// after it; one that the stream's end cuts off is never handed out. What is malformed as UTF-8 is U+FFFD, and a byte
/// order mark at the very beginning is skipped.
package struct ServerSentEventParser {
    /// How many bytes an event's data and a line may have unless the user says otherwise: 16 MiB.
    package static let defaultLimit = LineFramer.defaultLimit

    private let limit: Int
    private var lines: LineFramer
    private var failure: RequestError?

    /// The data of the event that is being received, a line feed after each line.
    private var data = Data()
    private var event = ""
    private var retry: Duration?
    /// The ID that becomes the last one with the next blank line.
    private var idBuffer: String

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
    package init(lastEventID: String = "", limit: Int = ServerSentEventParser.defaultLimit) {
        self.limit = limit
        self.lastEventID = lastEventID
        idBuffer = lastEventID
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
        while try lines.advance() {
            var line = lines.line
            if lines.count == 1, line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
            if line.isEmpty {
                if let event = eventEnded() { return event }
            } else {
                try lineReceived(line)
            }
        }
        return nil
    }
}

extension ServerSentEventParser {
    /// Takes the event that a blank line has completed.
    private mutating func eventEnded() -> ServerSentEvent? {
        lastEventID = idBuffer
        let complete: ServerSentEvent? =
            data.isEmpty
            ? nil
            : ServerSentEvent(
                event: event.isEmpty ? "message" : event, data: String(repairing: data.dropLast()), id: lastEventID,
                retry: retry)
        data = Data()
        event = ""
        retry = nil
        return complete
    }

    private mutating func lineReceived(_ line: Data) throws(RequestError) {
        let size = line.count
        let colon = ByteSearch.firstOffset(of: UInt8(ascii: ":"), in: 0..<size, of: line.span) ?? size
        // No field has a longer name; a comment has none.
        guard (2...5).contains(colon) else { return }
        var value = line.dropFirst(colon + 1)
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(repairing: line.prefix(colon)) {
        case "data": try append(data: value)
        case "event": event = String(repairing: value)
        case "id":
            // An ID with a NUL could not be sent back in a field.
            if !value.contains(0) { idBuffer = String(repairing: value) }
        case "retry":
            guard let time = Self.milliseconds(value) else { return }
            retry = time
            reconnectionTime = time
        default: break
        }
    }

    private mutating func append(data value: Data) throws(RequestError) {
        guard data.count + value.count <= limit else {
            let error = RequestError(
                .invalidResponse(.bodyTooLarge(limit: Int64(limit))), detail: "an event of it is longer than the limit")
            failure = error
            data = Data()
            throw error
        }
        data.append(value)
        data.append(UInt8(ascii: "\n"))
    }

    /// Returns the time that a `retry` field gives in digits; a number beyond 64 bits is none.
    private static func milliseconds(_ value: Data) -> Duration? {
        guard !value.isEmpty, value.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
        return Int64(String(repairing: value)).map { .milliseconds($0) }
    }
}
