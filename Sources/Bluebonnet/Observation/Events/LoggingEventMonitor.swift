/// Writes a line for what happens to requests, without secrets.
///
/// ```
/// [7] GET https://api.example.com/users?page=<redacted>: sent
/// [7] GET https://api.example.com/users?page=<redacted>: answered with 503 after 0.0121 s
/// [7] GET https://api.example.com/users?page=<redacted>: will be tried again after 1.0 s: the status code is 503
/// ```
///
/// The number in front names the request within the process. Lines show no user info and no values of a query, and neither
/// bodies nor, unless that is asked for, fields; the values of those that carry secrets are replaced. What an error that is
/// not Bluebonnet's own says is shown as it is.
public struct LoggingEventMonitor: RequestEventHandler {
    /// How much is written.
    public enum Level: Hashable, Sendable {
        /// The outcome of each request.
        case brief
        /// The same with the fields of requests and responses.
        case headers
    }

    /// How much is written.
    package let level: Level

    /// Where lines are written; `nil` for the global pool.
    public let executor: (any TaskExecutor)?

    private let write: @Sendable (String) -> Void

    @usableFromInline static let writeToStandardError: @Sendable (String) -> Void = { StandardError.write($0 + "\n") }

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - level: How much is written.
    ///   - executor: Where the closure is called; the global pool by default.
    ///   - write: Gets one line after the other, without its end; writes to the standard error by default.
    public init(
        level: Level = .brief, executor: (any TaskExecutor)? = nil,
        write: @escaping @Sendable (_ line: String) -> Void = LoggingEventMonitor.writeToStandardError
    ) {
        self.level = level
        self.executor = executor
        self.write = write
    }

    /// Writes the line that there is for the event.
    public func handle(_ event: RequestEvent, of request: any Request) {
        switch event {
        case .didCreateTask(let task):
            let attempt = task.attempt > 1 && !task.isRedirect ? ", attempt \(task.attempt)" : ""
            line(request, task.request, "sent" + attempt, task.request.headers)
        case .didCompleteTask(let task, let error):
            let duration = task.metrics.map { " after \($0.total)" } ?? ""
            let status = task.response.map { "answered with \($0.statusCode)" }
            let failure = error.map { "failed\(duration): \($0)" }
            let end = [status.map { error == nil ? $0 + duration : $0 }, failure].compactMap(\.self)
            line(request, task.request, end.joined(separator: ", and "), task.response?.headers)
        case .willBeRedirected(let next, _): line(request, nil, "is redirected to \(next)")
        case .didFailToCreateRequest(let error): line(request, nil, "cannot be sent: \(error)")
        case .didFailToAdaptRequest(let initial, let error): line(request, initial, "cannot be sent: \(error)")
        case .willRetry(let error, let delay):
            let delay = delay.map { " after \($0)" } ?? ""
            line(request, request.request, "will be tried again\(delay): \(error)")
        case .didSuspend: line(request, nil, "was suspended")
        case .didCancel: line(request, nil, "was cancelled")
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

extension Unicode.Scalar.Properties {
    /// Whether a text with the scalar would not be one line, or do something to a terminal.
    fileprivate var isBreak: Bool {
        [.control, .lineSeparator, .paragraphSeparator].contains(generalCategory)
    }
}
