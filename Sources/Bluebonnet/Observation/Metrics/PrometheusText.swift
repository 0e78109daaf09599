/// Formats metrics in Prometheus' text exposition format 0.0.4.
enum PrometheusText {
    /// Returns the text of the figures, which are sorted by their metrics.
    static func text(of series: [MetricsMonitor.Series]) -> String {
        var text = ""
        var last: MetricsMonitor.Instrument?
        for series in series {
            let name = name(of: series.instrument)
            if series.instrument != last {
                text += "# HELP \(name) \(series.instrument.summary)\n"
                text += "# TYPE \(name) \(series.instrument.kind.rawValue)\n"
                last = series.instrument
            }
            append(series, name, to: &text)
        }
        return text
    }

    /// Returns the name with underscores, the unit and, for a counter, `_total`.
    static func name(of instrument: MetricsMonitor.Instrument) -> String {
        let unit = ["s": "_seconds", "By": "_bytes"][instrument.unit] ?? ""
        return underscored(instrument.rawValue) + unit + (instrument.kind == .counter ? "_total" : "")
    }

    private static func append(_ series: MetricsMonitor.Series, _ name: String, to text: inout String) {
        let pairs = series.attributes.map { "\(underscored($0.name))=\"\(escaped($0.value))\"" }
        let labels = braced(pairs)
        guard series.instrument.kind == .histogram else {
            text += "\(name)\(labels) \(number(series.sum))\n"
            return
        }
        var count = 0
        let bounds = series.instrument.bucketBounds.map { number($0) } + ["+Inf"]
        for (bound, inBucket) in zip(bounds, series.bucketCounts) {
            // The buckets of the format contain all values up to their bounds.
            count += inBucket
            text += "\(name)_bucket\(braced(pairs + ["le=\"\(bound)\""])) \(count)\n"
        }
        text += "\(name)_sum\(labels) \(number(series.sum))\n\(name)_count\(labels) \(series.count)\n"
    }

    private static func underscored(_ name: String) -> String { String(name.map { $0 == "." ? "_" : $0 }) }

    private static func braced(_ pairs: [String]) -> String {
        pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}"
    }

    /// Returns the number without a fraction if it has none.
    private static func number(_ value: Double) -> String { Int64(exactly: value).map { "\($0)" } ?? "\(value)" }

    /// Returns the value of a label with escapes.
    private static func escaped(_ value: String) -> String {
        value.unicodeScalars.map { escapes[$0] ?? String($0) }.joined()
    }

    /// The escapes of the format, and a replacement for NUL, at which Prometheus' parser stops.
    private static let escapes: [Unicode.Scalar: String] = [
        "\\": #"\\"#, "\"": #"\""#, "\n": #"\n"#, "\0": "\u{fffd}",
    ]
}
