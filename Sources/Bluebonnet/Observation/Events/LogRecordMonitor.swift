/// An event monitor that creates log records about requests, without secrets.
///
/// The monitor creates a record for each event for which a ``LoggingEventMonitor`` writes a line. In addition to the
/// message, a record has named values. The values contain no bodies. The URLs in the values contain no user info and no
/// query values. With the level `headers`, the values also contain header fields, with `<redacted>` in place of
/// secrets. If an error does not come from Bluebonnet, the message contains the error's own text, which may contain
/// secrets.
///
/// ```swift
/// let session = Session(eventMonitors: [LogRecordMonitor.json()])
/// ```
public struct LogRecordMonitor: RequestEventHandler {
    /// The executor that receives the records, or `nil` for the global executor.
    public let executor: (any TaskExecutor)?

    private let level: LoggingEventMonitor.Level
    private let receive: @Sendable (LogRecord) -> Void

    /// Creates a monitor for a logger of your choice.
    ///
    /// - Parameters:
    ///   - level: The level of detail; `.brief` by default, which means no header fields.
    ///   - executor: The executor that calls `receive`, or `nil` for the global executor. The default is `nil`.
    ///   - receive: A closure that receives each record.
    public init(
        level: LoggingEventMonitor.Level = .brief, executor: (any TaskExecutor)? = nil,
        receive: @escaping @Sendable (_ record: LogRecord) -> Void
    ) {
        self.level = level
        self.executor = executor
        self.receive = receive
    }

    /// Creates a monitor that writes each record as JSON on one line.
    ///
    /// - Parameters:
    ///   - level: The level of detail; `.brief` by default, which means no header fields.
    ///   - executor: The executor that calls `write`, or `nil` for the global executor. The default is `nil`.
    ///   - write: A closure that receives each line without a line ending. The default closure writes to standard
    ///     error.
    /// - Returns: The new monitor.
    public static func json(
        level: LoggingEventMonitor.Level = .brief, executor: (any TaskExecutor)? = nil,
        write: @escaping @Sendable (_ line: String) -> Void = LoggingEventMonitor.writeToStandardError
    ) -> LogRecordMonitor {
        LogRecordMonitor(level: level, executor: executor) { write($0.jsonLine) }
    }

    /// Creates a record of the event.
    ///
    /// Some events have no record.
    public func handle(_ event: RequestEvent, of request: any Request) {
        guard let logged = LoggedEvent(event, of: request) else { return }
        receive(logged.record(of: request, level))
    }
}
