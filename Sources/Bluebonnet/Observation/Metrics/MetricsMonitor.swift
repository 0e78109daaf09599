/// An event monitor that collects metrics: counters, gauges and histograms.
///
/// ```swift
/// let metrics = MetricsMonitor()
/// let session = Session(eventMonitors: [metrics])
/// print(metrics.prometheusText)
/// ```
///
/// A monitor can serve several sessions. To observe only some requests, add the monitor to these requests before they
/// start. The monitor keeps separate figures for each host, route, method, status code and type of error.
/// ``Instrument`` lists the metrics, and <doc:Observability> describes their attributes. Use a ``RouteTag`` for the
/// route. The metrics contain no paths, no queries and no header fields.
///
/// The memory use is bounded: each metric has at most `maximumSets` different sets of attributes. Further sets are
/// counted together in a set with the single attribute `otel.metric.overflow`.
public final class MetricsMonitor: RequestEventHandler {
    /// The executor that updates the metrics, or `nil` for the global executor.
    public let executor: (any TaskExecutor)?

    private let table: Locked<MetricsTable>
    private let onMeasurement: (@Sendable (Measurement) -> Void)?

    /// Creates a monitor without figures.
    ///
    /// - Parameters:
    ///   - maximumSets: The maximum number of sets of attributes of each metric, at least 1; 1,000 by default.
    ///   - executor: The executor that updates the metrics and calls `onMeasurement`, or `nil` for the global executor.
    ///     The default is `nil`.
    ///   - onMeasurement: A closure that receives each measurement, for another metrics system; `nil` by default.
    public init(
        maximumSets: Int = 1_000, executor: (any TaskExecutor)? = nil,
        onMeasurement: (@Sendable (_ measurement: Measurement) -> Void)? = nil
    ) {
        self.executor = executor
        self.onMeasurement = onMeasurement
        table = Locked(MetricsTable(maximumSets: max(maximumSets, 1)))
    }

    /// Updates the metrics.
    ///
    /// Most events do not change any metric.
    public func handle(_ event: RequestEvent, of request: any Request) {
        let measurements = Measurement.measurements(of: event, request)
        guard !measurements.isEmpty else { return }
        table.withLock { table in
            for measurement in measurements { table.add(measurement) }
        }
        if let onMeasurement { measurements.forEach(onMeasurement) }
    }

    /// Sets a gauge to a value.
    func set(_ instrument: Instrument, _ attributes: [Attribute], _ value: Int) {
        let change = table.withLock { table in
            let earlier = table.series[instrument]?[attributes]?.sum ?? 0
            let change = Measurement(instrument: instrument, attributes: attributes, value: Double(value) - earlier)
            table.add(change)
            return change
        }
        onMeasurement?(change)
    }

    /// Returns the current figures of all metrics that have figures.
    ///
    /// Events that the monitor has not received yet are not included. ``Session/shutdown()`` waits for them.
    ///
    /// - Returns: The figures, sorted by metric in the order of ``Instrument``, and then by their attributes.
    public func snapshot() -> [Series] { table.withLock { $0 }.sorted }

    /// The current figures in Prometheus' text exposition format 0.0.4; empty if there are no figures.
    ///
    /// The media type of the text is `text/plain; version=0.0.4; charset=utf-8`.
    public var prometheusText: String { PrometheusText.text(of: snapshot()) }

    /// Returns ``prometheusText``, for programs that call it as a method.
    ///
    /// - Parameter none: Nothing; leave it out.
    /// - Returns: The text, which is empty if there are no figures.
    @_disfavoredOverload
    public func prometheusText(_ none: Void = ()) -> String { prometheusText }
}

extension MetricsMonitor {
    /// An attribute of a figure, such as the host.
    public struct Attribute: Hashable, Sendable {
        /// The name in OpenTelemetry's form, such as `server.address`.
        public let name: String
        /// The value as text.
        public let value: String
    }

    /// A single value of a metric.
    public struct Measurement: Hashable, Sendable {
        /// The metric.
        public let instrument: Instrument
        /// The attributes, in a fixed order.
        public let attributes: [Attribute]
        /// The value to add to a counter or a gauge, or to record in a histogram, in the unit of the metric.
        public let value: Double
    }

    /// The figures of a metric for one set of attributes.
    public struct Series: Hashable, Sendable {
        /// The metric.
        public let instrument: Instrument
        /// The attributes, in a fixed order.
        public let attributes: [Attribute]
        /// The value of a counter or a gauge, or the sum of all values of a histogram.
        public internal(set) var sum = 0.0
        /// The number of measurements.
        public internal(set) var count = 0
        /// The number of values in each bucket of a histogram, with one more bucket than there are
        /// ``Instrument/bucketBounds``; empty for other kinds.
        public internal(set) var bucketCounts: [Int] = []
    }
}
