extension MetricsMonitor {
    /// A metric that a ``MetricsMonitor`` collects; the raw value is its name.
    ///
    /// The names that begin with `http.` are those of OpenTelemetry's conventions for HTTP clients. An exchange is one
    /// request and its response; each redirect and each retry is an exchange of its own.
    @nonexhaustive
    public enum Instrument: String, CaseIterable, Sendable {
        /// The duration of an exchange, without the time in the queue.
        case requestDuration = "http.client.request.duration"
        /// The number of running exchanges.
        case activeRequests = "http.client.active_requests"
        /// The size of the body of a request.
        case requestBodySize = "http.client.request.body.size"
        /// The size of the body of a response, before content decoding.
        case responseBodySize = "http.client.response.body.size"
        /// The time that an exchange waited for other exchanges because of ``Session/Configuration/requestLimits``.
        case timeInQueue = "http.client.request.time_in_queue"
        /// The duration of a TLS handshake.
        case handshakeDuration = "bluebonnet.client.tls.handshake.duration"
        /// The number of exchanges that used a connection, counted separately for new and for reused connections.
        case connectionUses = "bluebonnet.client.connection.uses"
        /// The number of open connections, by their state: active or idle; see ``MetricsMonitor/record(_:)``.
        case openConnections = "http.client.open_connections"
        /// The number of requests that wait for a connection or for other requests; see ``MetricsMonitor/record(_:)``.
        case waitingRequests = "bluebonnet.client.waiting_requests"
        /// The number of responses, by their source: the network, the cache, or the cache after a validation.
        case responses = "bluebonnet.client.responses"
        /// The number of redirects that were followed.
        case redirects = "bluebonnet.client.redirects"
        /// The number of retries.
        case retries = "bluebonnet.client.retries"
        /// The number of finished requests, each with all of its redirects and retries.
        case requests = "bluebonnet.client.requests"

        /// The kinds of metrics.
        @nonexhaustive
        public enum Kind: String, Sendable {
            /// A sum that only grows.
            case counter
            /// A sum that can also fall; its measurements are changes of the sum.
            case gauge
            /// A distribution of values over buckets.
            case histogram
        }

        /// The kind of the metric.
        public var kind: Kind { facts.kind }

        /// The unit of the values (UCUM): `s` for seconds, `By` for bytes, or a noun in braces.
        public var unit: String { facts.unit }

        /// A description of the metric in one sentence, on one line.
        public var summary: String { facts.summary }

        private var facts: (kind: Kind, unit: String, summary: String) {
            switch self {
            case .requestDuration: (.histogram, "s", "Duration of HTTP client requests, without the time in the queue.")
            case .activeRequests: (.gauge, "{request}", "Number of active HTTP client requests.")
            case .requestBodySize: (.histogram, "By", "Size of HTTP client request bodies.")
            case .responseBodySize: (.histogram, "By", "Size of HTTP client response bodies, before content decoding.")
            case .timeInQueue: (.histogram, "s", "Time that HTTP client requests waited because of the request limits.")
            case .handshakeDuration: (.histogram, "s", "Duration of TLS handshakes.")
            case .connectionUses: (.counter, "{request}", "Number of requests with a connection, new or reused.")
            case .openConnections: (.gauge, "{connection}", "Number of open connections, active or idle.")
            case .waitingRequests: (.gauge, "{request}", "Number of requests that wait for a connection or a limit.")
            case .responses: (.counter, "{response}", "Number of responses by their source.")
            case .redirects: (.counter, "{redirect}", "Number of redirects that were followed.")
            case .retries: (.counter, "{retry}", "Number of retries.")
            case .requests: (.counter, "{request}", "Number of finished requests, each with its redirects and retries.")
            }
        }

        /// The upper bounds of the buckets of a histogram, which are inclusive; empty for other kinds.
        ///
        /// A last bucket without a bound follows. The bounds for seconds are those that OpenTelemetry advises for
        /// ``requestDuration``. The bounds for bytes range from 1 KiB to 1 GiB.
        public var bucketBounds: [Double] { unit == "s" ? Self.seconds : unit == "By" ? Self.bytes : [] }

        private static let seconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
        private static let bytes = (5...15).map { Double(1 << ($0 * 2)) }
    }
}
