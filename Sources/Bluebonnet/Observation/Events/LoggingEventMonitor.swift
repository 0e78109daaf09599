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
        /// There are lines for requests that cannot be sent, exchanges, redirects, retries, suspensions, cancellations,
        /// failed serializers and the end of each request.
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
    ///   - executor: The executor that calls `write`, or `nil` for the global executor. The default is `nil`.
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
        switch event {
        case .didCreateTask(let task):
            let attempt = task.attempt > 1 && !task.isRedirect ? ", attempt \(task.attempt)" : ""
            line(request, task.request, "sent" + attempt, task.request.headers)
        case .didCompleteTask(let task, let error):
            let duration = task.metrics.map { " after \($0.total.rounded)" } ?? ""
            let status = task.response.map { "answered with \($0.statusCode)" }
            let failure = error.map { "failed\(duration): \($0)" }
            let end = [status.map { error == nil ? $0 + duration : $0 }, failure].compactMap(\.self)
            line(request, task.request, end.joined(separator: ", and "), task.response?.headers)
        case .willBeRedirected(let next, _): line(request, nil, "is redirected to \(next)")
        case .didFailToCreateRequest(let error): line(request, nil, "cannot be sent: \(error)")
        case .didFailToAdaptRequest(let initial, let error): line(request, initial, "cannot be sent: \(error)")
        case .willRetry(let error, let delay):
            let delay = delay.map { " after \($0.rounded)" } ?? ""
            line(request, request.request, "will be tried again\(delay): \(error)")
        case .didSuspend: line(request, nil, "was suspended")
        case .didCancel: line(request, nil, "was cancelled")
        case .didParseResponse(let outcome), .didParseStream(let outcome):
            // A failed request has its own line.
            if let error = outcome.error, request.error == nil { line(request, nil, "serialization failed: \(error)") }
        case .didFinish: line(request, nil, request.error.map { "failed: \($0)" } ?? "finished")
        default: break
        }
    }

    private func line(_ request: any Request, _ sent: HTTPRequest?, _ text: String, _ headers: HTTPHeaders? = nil) {
        var line = "[\(request.id)] " + (sent.map { "\($0): " } ?? "") + text
        if level == .headers, let headers, !headers.isEmpty {
            line += "; " + headers.map { "\($0.name): \(Redaction.fieldValue($0))" }.joined(separator: "; ")
        }
        write(String(String.UnicodeScalarView(line.unicodeScalars.map { $0.properties.isBreak ? " " : $0 })))
    }
}

extension Duration {
    /// The duration in steps of a tenth of a millisecond.
    fileprivate var rounded: Duration { .microseconds(nanoseconds / 100_000 * 100) }
}

extension Unicode.Scalar.Properties {
    /// Whether the scalar would break the line or control a terminal.
    fileprivate var isBreak: Bool {
        [.control, .lineSeparator, .paragraphSeparator].contains(generalCategory)
    }
}
