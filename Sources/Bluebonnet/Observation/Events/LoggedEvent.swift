import FoundationEssentials

/// An event that is logged, as a line of text or as a record.
struct LoggedEvent {
    private let level: LogRecord.Level
    private let name: String
    private let text: String
    /// The request at the beginning of the text, if there is one.
    private var sent: HTTPRequest?
    /// The request of the record, if it is known.
    private var subject: HTTPRequest?
    private var task: ExchangeRecord?
    private var response: HTTPResponse?
    private var error: RequestError?
    private var detail: (name: String, value: JSONValue)?

    /// Returns the event for the log; `nil` if it is not logged.
    init?(_ event: RequestEvent, of request: any Request) {
        subject = request.request
        switch event {
        case .didCreateTask(let task):
            let attempt = task.attempt > 1 && !task.isRedirect ? ", attempt \(task.attempt)" : ""
            (level, name, text) = (.debug, "exchange.started", "sent\(attempt)")
            (self.task, sent) = (task, task.request)
        case .didCompleteTask(let task, let error):
            (level, name) = (Self.level(of: error, .warning), error == nil ? "exchange.ended" : "exchange.failed")
            text = Self.text(ofEnded: task, error)
            (self.task, sent, response, self.error) = (task, task.request, task.response, error)
        case .willBeRedirected(let next, let response):
            (level, name, text) = (.info, "request.redirected", "is redirected to \(next)")
            detail = ("bluebonnet.redirect.url", .string(next.url.redactedDescription))
            // The next request may have been sent already, so the request does not show which request was redirected.
            (self.response, subject) = (response, nil)
        case .didFailToCreateRequest(let error):
            (level, name, text, self.error) = (.error, "request.not_sent", "cannot be sent: \(error)", error)
        case .didFailToAdaptRequest(let initial, let error):
            (level, name, text, self.error) = (.error, "request.not_sent", "cannot be sent: \(error)", error)
            sent = initial
        case .willRetry(let error, let delay):
            (level, name, self.error, sent) = (.warning, "request.retrying", error, subject)
            text = "will be tried again\(delay.map { " after \($0.rounded)" } ?? ""): \(error)"
            detail = delay.map { ("bluebonnet.retry.delay", .double($0.inSeconds)) }
        case .didSuspend: (level, name, text) = (.info, "request.suspended", "was suspended")
        case .didCancel: (level, name, text) = (.info, "request.cancelled", "was cancelled")
        case .didParseResponse(let outcome), .didParseStream(let outcome):
            // A failed request has its own line.
            guard let error = outcome.error, request.error == nil else { return nil }
            (level, name, text) = (.error, "serialization.failed", "serialization failed: \(error)")
            self.error = error
        case .didFinish:
            error = request.error
            (level, name) = (Self.level(of: error, .error), error == nil ? "request.finished" : "request.failed")
            text = error.map { "failed: \($0)" } ?? "finished"
            response = error == nil ? request.response : error?.response
        default: return nil
        }
    }

    private static func text(ofEnded task: ExchangeRecord, _ error: RequestError?) -> String {
        let duration = task.metrics.map { " after \($0.total.rounded)" } ?? ""
        let status = task.response.map { "answered with \($0.statusCode)" }
        let failure = error.map { "failed\(duration): \($0)" }
        let end = [status.map { error == nil ? $0 + duration : $0 }, failure].compactMap(\.self)
        return end.joined(separator: ", and ")
    }

    private static func level(of error: RequestError?, _ failure: LogRecord.Level) -> LogRecord.Level {
        error == nil || error?.isCancellation == true ? .info : failure
    }

    private var message: String { (sent.map { "\($0): " } ?? "") + text }

    /// The header fields of a request that is sent, or of the response of an exchange.
    private var headers: HTTPHeaders {
        guard let task else { return [:] }
        return name == "exchange.started" ? task.request.headers : response?.headers ?? [:]
    }

    /// Returns the line about the event.
    func line(of request: any Request, _ detail: LoggingEventMonitor.Level) -> String {
        var line = "[\(request.id)] " + message
        if detail == .headers, !headers.isEmpty {
            line += "; " + headers.map { "\($0.name): \(Redaction.fieldValue($0))" }.joined(separator: "; ")
        }
        return line.onOneLine
    }

    /// Returns the record about the event, with the current time.
    func record(of request: any Request, _ detail: LoggingEventMonitor.Level) -> LogRecord {
        var record = LogRecord(level: level, event: name, message: message.onOneLine)
        func add(_ name: String, _ value: JSONValue?) {
            if let value { record.attributes.append((name, value)) }
        }
        let subject = sent ?? subject
        let tags = subject?.tags ?? request.tags
        let url = (subject?.url ?? response?.url)?.redactedDescription ?? error?.url
        add("bluebonnet.request.id", .integer(Int64(request.id.number)))
        add("http.request.method", (subject?.method ?? error?.method).map { .string($0.rawValue) })
        add("url.full", url.map { .string($0) })
        add("url.template", tags[RouteTag.self].map { .string($0) })
        add("bluebonnet.request.attempt", task.map { .integer(Int64($0.attempt)) })
        add("http.response.status_code", response.map { .integer(Int64($0.statusCode)) })
        add("network.protocol.version", response.map { .string($0.httpVersion.number) })
        add("http.client.request.duration", task?.metrics.map { .double($0.total.inSeconds) })
        add("trace_id", tags[TraceContext.Parent.self].map { .string($0.traceID) })
        add("error.type", error.map { .string($0.kind.name) })
        if let detail = self.detail { add(detail.name, detail.value) }
        if detail == .headers, !headers.isEmpty {
            let fields = Dictionary(grouping: headers) { $0.name.lowercased() }
                .mapValues { JSONValue.array($0.map { .string(Redaction.fieldValue($0)) }) }
            add(response == nil ? "http.request.headers" : "http.response.headers", .object(fields))
        }
        return record
    }
}

extension Duration {
    /// The duration in steps of a tenth of a millisecond.
    fileprivate var rounded: Duration { .microseconds(nanoseconds / 100_000 * 100) }

    /// The duration in seconds.
    var inSeconds: Double { Double(nanoseconds) / 1e9 }
}

extension HTTPVersion {
    /// The number of the version, such as `1.1` or `2`.
    var number: String { String(text.dropFirst("HTTP/".count)) }
}
