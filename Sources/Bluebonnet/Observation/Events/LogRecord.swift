public import FoundationEssentials

/// A structured log record: a level, the name of an event, a message, and named values.
///
/// A ``LogRecordMonitor`` creates records from the events of requests. Other loggers can use the values as they are.
/// ``jsonLine`` contains the record as JSON.
public struct LogRecord: Sendable {
    /// The severity of a record; swift-log uses the same names.
    @nonexhaustive
    public enum Level: String, CaseIterable, Sendable {
        /// The start of an exchange.
        case debug
        /// The normal course of a request, and also its cancellation.
        case info
        /// A failure that may not be final, such as the failure of an attempt.
        case warning
        /// A request or a serializer that has failed.
        case error
    }

    /// The time at which the record was created.
    public var time: Date
    /// The severity of the record.
    public var level: Level
    /// The name of the event, such as `exchange.ended`.
    public var event: String
    /// A sentence for readers, on one line.
    public var message: String
    /// The named values in order, such as the string `http.request.method` or the integer `http.response.status_code`.
    public var attributes: [(name: String, value: JSONValue)]

    /// Creates a record.
    ///
    /// - Parameters:
    ///   - time: The time of the record; the current time by default.
    ///   - level: The severity of the record.
    ///   - event: The name of the event.
    ///   - message: A sentence for readers.
    ///   - attributes: The named values, in order; none by default.
    public init(
        time: Date = Date(), level: Level, event: String, message: String,
        attributes: [(name: String, value: JSONValue)] = []
    ) {
        (self.time, self.level, self.event, self.message) = (time, level, event, message)
        self.attributes = attributes
    }

    /// The record as a JSON object on one line, without a line ending.
    ///
    /// The object has the members `time` (ISO 8601 in UTC, with milliseconds), `level`, `event` and `message`, and then
    /// the attributes in their order. Control characters are escaped. Line breaks that JSON does not escape, such as
    /// U+2028, become spaces.
    public var jsonLine: String {
        let time = time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        let first = [("time", time), ("level", level.rawValue), ("event", event), ("message", message)]
        let all = first.map { (name: $0, value: JSONValue.string($1)) } + attributes
        return "{\(all.map { "\(JSONValue.string($0.name)):\($0.value)" }.joined(separator: ","))}".onOneLine
    }
}
