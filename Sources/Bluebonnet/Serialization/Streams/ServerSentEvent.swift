public import FoundationEssentials

/// One event of an event stream (WHATWG HTML, "Server-sent events").
public struct ServerSentEvent: Hashable, Sendable {
    /// The kind of the event; `message` when the server named none.
    public var event: String

    /// The data: the values of the event's `data` fields, joined with line feeds.
    public var data: String

    /// The last event ID as of this event: its own, or that of the last event before it that had one.
    ///
    /// Empty when there was none, or when the server took it back with an empty one. A reconnection asks the server to go
    /// on after it, in the field `Last-Event-ID`; so one of more than 8,000 bytes or with a NUL, which could not be sent
    /// back, does not count.
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
