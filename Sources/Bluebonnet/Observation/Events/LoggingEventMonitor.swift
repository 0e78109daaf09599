/// An event monitor that writes log lines about requests, without secrets.
///
/// ```
/// [7] GET https://example.com/users: sent
/// [7] GET https://example.com/users: answered with 503 after 0.0121 seconds
/// [7] GET https://example.com/users: will be tried again after 1.0 seconds: the status code 503 is not acceptable …
/// ```
///
/// The number in brackets is the identifier of the request within the process. Lines contain no bodies. The URLs in
/// lines contain no user info and no query values. The level ``Level/headers`` adds header fields, with `<redacted>` in
/// place of secrets. If an error does not come from Bluebonnet, the line contains the error's own text, which may
/// contain secrets.
public struct LoggingEventMonitor: RequestEventHandler {
    /// The levels of detail.
    public enum Level: Hashable, Sendable {
        /// Writes lines for the progress of each request.
        ///
        /// There are lines for exchanges, redirects, retries, suspensions, cancellations, failed serializers, requests
        /// that cannot be sent, and the end of each request.
        case brief
        /// Writes the lines of `brief`, and adds the header fields of requests and responses.
        case headers
    }

    /// The level of detail.
    package let level: Level

    /// The executor that writes the lines, or `nil` for the global executor.
    public let executor: (any TaskExecutor)?

    private let write: @Sendable (String) -> Void

    @usableFromInline static let writeToStandardError: @Sendable (String) -> Void = { StandardError.write($0 + "\n") }

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - level: The level of detail; `.brief` by default.
    ///   - executor: The executor on which `write` runs, or `nil` for the global executor. The default is `nil`.
    ///   - write: A closure that receives each line without a line ending. The default closure writes to standard
    ///     error.
    public init(
        level: Level = .brief, executor: (any TaskExecutor)? = nil,
        write: @escaping @Sendable (_ line: String) -> Void = LoggingEventMonitor.writeToStandardError
    ) {
        self.level = level
        self.executor = executor
        self.write = write
    }

    /// Writes a line about the event.
    ///
    /// Some events have no line.
    public func handle(_ event: RequestEvent, of request: any Request) {
        guard let logged = LoggedEvent(event, of: request) else { return }
        write(logged.line(of: request, level))
    }
}
