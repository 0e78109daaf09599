/// The figures of all metrics, with a bounded number of attribute sets.
struct MetricsTable: Sendable {
    /// The attributes of all sets beyond the limit, as in OpenTelemetry's SDK.
    static let overflow = [MetricsMonitor.Attribute(name: "otel.metric.overflow", value: "true")]

    /// The maximum number of sets of each metric, including the set for the overflow.
    let maximumSets: Int
    /// No set is ever removed, so that each measurement of a set is added to the same figures.
    private(set) var series: [MetricsMonitor.Instrument: [[MetricsMonitor.Attribute]: MetricsMonitor.Series]] = [:]

    mutating func add(_ measurement: MetricsMonitor.Measurement) {
        let instrument = measurement.instrument
        let isFull = (series[instrument]?.count ?? 0) + 1 >= maximumSets
        let isKnown = !isFull || series[instrument]?[measurement.attributes] != nil
        let attributes = isKnown ? measurement.attributes : Self.overflow
        let new = MetricsMonitor.Series(instrument: instrument, attributes: attributes)
        series[instrument, default: [:]][attributes, default: new].add(measurement.value)
    }

    /// The figures in the order of the metrics, and then of the attributes.
    var sorted: [MetricsMonitor.Series] {
        MetricsMonitor.Instrument.allCases.flatMap { instrument in
            (series[instrument] ?? [:]).values.sorted { one, other in
                one.attributes.lexicographicallyPrecedes(other.attributes) { ($0.name, $0.value) < ($1.name, $1.value) }
            }
        }
    }
}

extension MetricsMonitor.Series {
    mutating func add(_ value: Double) {
        sum += value
        count += 1
        let bounds = instrument.bucketBounds
        guard !bounds.isEmpty else { return }
        if bucketCounts.isEmpty { bucketCounts = Array(repeating: 0, count: bounds.count + 1) }
        bucketCounts[bounds.firstIndex { value <= $0 } ?? bounds.endIndex] += 1
    }
}
