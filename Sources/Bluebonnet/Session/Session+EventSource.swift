extension Session {
    /// Vends a source of server-sent events (WHATWG HTML §9.2), which reconnects when its connection is lost.
    ///
    /// Nothing is sent before a loop over the source begins. The session's limits for idle and total time do not hold
    /// for its connections, which may be silent for long; `requestModifier` can set others.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - headers: Header fields; they replace session fields of the same name. `Accept`, `Cache-Control` and
    ///     `Last-Event-ID` are the source's to set.
    ///   - configuration: How the source reconnects.
    ///   - requestModifier: Changes the request of each connection once it has all of this. Runs on the global pool.
    /// - Returns: The source.
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

    /// Vends a source of server-sent events that a type of your own, or a request made by hand, describes.
    ///
    /// Nothing is sent before a loop over the source begins. The session's limits for idle and total time do not hold
    /// for its connections, which may be silent for long; limits of the request's own do.
    ///
    /// - Parameters:
    ///   - convertible: Asked for the request again for each connection, on the global pool.
    ///   - configuration: How the source reconnects.
    /// - Returns: The source.
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
