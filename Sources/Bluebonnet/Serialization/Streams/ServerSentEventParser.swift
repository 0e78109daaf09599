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
    package init(lastEventID: String = "", limit: Int = ServerSentEventParser.defaultLimit) {
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
