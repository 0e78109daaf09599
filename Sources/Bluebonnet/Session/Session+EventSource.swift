extension Session {
    /// Creates a source of server-sent events (WHATWG HTML §9.2), which reconnects when its connection is lost.
    ///
    /// Nothing is sent until a loop over the source begins. The session's idle and total timeouts do not apply, because
    /// the connections may be silent for a long time. `requestModifier` can set other timeouts.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - headers: Header fields; they replace session fields of the same name. The source itself sets `Accept`,
    ///     `Cache-Control` and, if there is an ID to send, `Last-Event-ID`.
    ///   - configuration: The reconnection settings.
    ///   - requestModifier: A closure that changes the request of each connection, after everything else is set. It
    ///     runs on the global pool.
    /// - Returns: A sequence of events.
    public nonisolated func eventSource(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders? = nil,
        configuration: EventSource.Configuration = EventSource.Configuration(),
        requestModifier: RequestModifier? = nil
    ) -> EventSource {
        eventSource(
            ComposedRequest(
                url: convertible, method: method, headers: headers, requestModifier: nil, encode: nil),
            configuration: configuration, requestModifier: requestModifier)
    }

    /// Creates a source of server-sent events for an ``HTTPRequest`` or your own request type.
    ///
    /// Nothing is sent until a loop over the source begins. The session's idle and total timeouts do not apply, because
    /// the connections may be silent for a long time. Timeouts that the request itself sets do apply.
    ///
    /// - Parameters:
    ///   - convertible: The ``HTTPRequest``, or your own ``HTTPRequestConvertible`` type. Its `asHTTPRequest()` is
    ///     called on the global pool, once for each connection.
    ///   - configuration: The reconnection settings.
    /// - Returns: A sequence of events.
    public nonisolated func eventSource(
        _ convertible: any HTTPRequestConvertible,
        configuration: EventSource.Configuration = EventSource.Configuration()
    ) -> EventSource {
        eventSource(convertible, configuration: configuration, requestModifier: nil)
    }

    private nonisolated func eventSource(
        _ convertible: any HTTPRequestConvertible, configuration: EventSource.Configuration,
        requestModifier: RequestModifier?
    ) -> EventSource {
        EventSource(configuration: configuration) { [self] fields async throws(RequestError) in
            let task = streamRequest(
                EventStreamRequest(
                    convertible: convertible, fields: fields, requestModifier: requestModifier)
            ).streamTask()
            let response = try await task.response
            return EventSourceConnection(response: response, chunks: task.bytes) { task.cancel() }
        }
    }
}

/// The request of one connection of an event source.
private struct EventStreamRequest: HTTPRequestConvertible {
    let convertible: any HTTPRequestConvertible
    let fields: HTTPHeaders
    let requestModifier: Session.RequestModifier?

    func asHTTPRequest() throws -> HTTPRequest {
        var request = try convertible.asHTTPRequest()
        for field in fields { request.headers.update(field) }
        // Events may be days apart.
        request.timeouts = request.timeouts.filled(from: Timeouts(idle: nil, total: nil))
        try requestModifier?(&request)
        return request
    }
}
