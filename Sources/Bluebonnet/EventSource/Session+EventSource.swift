extension Session {
    /// Creates a source of server-sent events, which reconnects when its connection is lost (WHATWG HTML §9.2).
    ///
    /// The source connects when a `for try await` loop over the source begins. The session's total timeout does not
    /// apply, and its idle timeout applies only until the head of an event stream has arrived, because the connection
    /// may then be silent for a long time. Use `requestModifier` to set other timeouts, such as no idle timeout for a
    /// server that sends its head with the first event.
    ///
    /// - Parameters:
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default. With a method that is not idempotent, such as POST, the source does not
    ///     reconnect unless ``EventSource/Configuration/repeatsNonIdempotentRequests`` is `true`.
    ///   - headers: Header fields, which replace the session's fields of the same name. The source sets `Accept` and
    ///     `Cache-Control`. It also sets `Last-Event-ID` if an earlier event or `configuration` contained an event ID.
    ///   - configuration: The reconnection settings.
    ///   - requestModifier: A closure that changes the request of each connection, after the source has set all fields.
    ///     The closure runs on the global executor.
    /// - Returns: A source of events.
    public nonisolated func eventSource(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders? = nil,
        configuration: EventSource.Configuration = EventSource.Configuration(),
        requestModifier: RequestModifier? = nil
    ) -> EventSource {
        eventSource(
            ComposedRequest(url: convertible, method: method, headers: headers), configuration: configuration,
            requestModifier: requestModifier)
    }

    /// Creates a source of server-sent events whose requests have parameters, such as a prompt for a language model.
    ///
    /// - Parameters:
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default. With a method that is not idempotent, such as POST, the source does not
    ///     reconnect unless ``EventSource/Configuration/repeatsNonIdempotentRequests`` is `true`.
    ///   - parameters: The parameters that the encoder writes to the query or the body.
    ///   - encoder: The parameter encoder; the session's encoder by default.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - configuration: The reconnection settings.
    ///   - requestModifier: A closure that changes the request of each connection, after the source has set all fields.
    ///     The closure runs on the global executor.
    /// - Returns: A source of events.
    public nonisolated func eventSource<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders? = nil,
        configuration: EventSource.Configuration = EventSource.Configuration(),
        requestModifier: RequestModifier? = nil
    ) -> EventSource {
        eventSource(
            ComposedRequest(
                url: convertible, method: method, headers: headers, encode: encoding(parameters, by: encoder)),
            configuration: configuration, requestModifier: requestModifier)
    }

    /// Creates a source of server-sent events for an ``HTTPRequest`` or your own request type.
    ///
    /// The source connects when a `for try await` loop over the source begins. The session's total timeout does not
    /// apply, and its idle timeout applies only until the head of an event stream has arrived, because the connection
    /// may then be silent for a long time. However, timeouts that are set in the request itself do apply.
    ///
    /// - Parameters:
    ///   - convertible: The ``HTTPRequest`` or your own ``HTTPRequestConvertible`` type. The source calls
    ///     `asHTTPRequest()` of your type on the global executor, once for each connection.
    ///   - configuration: The reconnection settings.
    /// - Returns: A source of events.
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
        let idle = self.configuration.timeouts.idle
        return EventSource(configuration: configuration) { [self] fields async throws(RequestError) in
            // Receives the method of the request.
            let method = Locked(HTTPMethod.get)
            let modified = ModifiedRequest(convertible: convertible) { request in
                for field in fields { request.headers.update(field) }
                try requestModifier?(&request)
                // Events may be days apart.
                if !request.timeouts.hasOwnIdle { request.timeouts.idleBeforeEvents = idle }
                request.timeouts = request.timeouts.filled(from: Timeouts(idle: nil, total: nil))
                method.withLock { $0 = request.method }
            }
            let task = streamRequest(modified).validate(statusCode: [200, 204])
                .validate(contentType: ["text/event-stream"]).streamTask()
            let response = try await task.response
            return EventSourceConnection(
                response: response, method: method.withLock(\.self), chunks: task.bytes
            ) { task.cancel() }
        }
    }
}
