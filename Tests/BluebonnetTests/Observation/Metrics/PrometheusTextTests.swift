import Foundation
import TestSupport
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct PrometheusTextTests {
    typealias Instrument = MetricsMonitor.Instrument
    typealias Attribute = MetricsMonitor.Attribute

    private func table(
        _ instrument: Instrument, _ attributes: [Attribute] = [], values: [Double], maximumSets: Int = 10
    ) -> MetricsTable {
        var table = MetricsTable(maximumSets: maximumSets)
        for value in values {
            table.add(MetricsMonitor.Measurement(instrument: instrument, attributes: attributes, value: value))
        }
        return table
    }

    private func lines(of table: MetricsTable) -> [String] {
        let text = PrometheusText.text(of: table.sorted)
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
    }

    @Test(arguments: [
        (Instrument.requestDuration, "http_client_request_duration_seconds", "histogram"),
        (.activeRequests, "http_client_active_requests", "gauge"),
        (.requestBodySize, "http_client_request_body_size_bytes", "histogram"),
        (.responseBodySize, "http_client_response_body_size_bytes", "histogram"),
        (.timeInQueue, "http_client_request_time_in_queue_seconds", "histogram"),
        (.handshakeDuration, "bluebonnet_client_tls_handshake_duration_seconds", "histogram"),
        (.connectionUses, "bluebonnet_client_connection_uses_total", "counter"),
        (.openConnections, "http_client_open_connections", "gauge"),
        (.waitingRequests, "bluebonnet_client_waiting_requests", "gauge"),
        (.responses, "bluebonnet_client_responses_total", "counter"),
        (.redirects, "bluebonnet_client_redirects_total", "counter"),
        (.retries, "bluebonnet_client_retries_total", "counter"),
        (.requests, "bluebonnet_client_requests_total", "counter"),
    ])
    func `Each metric has a name, a help text and a type`(_ instrument: Instrument, _ name: String, _ type: String) {
        let lines = lines(of: table(instrument, values: [1]))
        #expect(lines[0] == "# HELP \(name) \(instrument.summary)")
        #expect(lines[1] == "# TYPE \(name) \(type)")
        #expect(lines[2].hasPrefix(type == "histogram" ? "\(name)_bucket{le=" : "\(name) 1"))
        #expect(lines.last == "", "the last line has a line ending")
        #expect(!instrument.summary.contains("\n") && !instrument.summary.contains("\\"))
    }

    @Test func `The buckets of a histogram are cumulative and include their bounds`() {
        let values = [0, 0.005, 0.006, 0.3, 10, 11, 0.3]
        let attributes = [Attribute(name: "server.port", value: "80")]
        let name = "http_client_request_duration_seconds"
        let counts = [2, 3, 3, 3, 3, 3, 3, 5, 5, 5, 5, 5, 5, 6, 7]
        let bounds = ["0.005", "0.01", "0.025", "0.05", "0.075", "0.1", "0.25", "0.5", "0.75"]
        let others = ["1", "2.5", "5", "7.5", "10", "+Inf"]
        let expected = zip(bounds + others, counts).map { bound, count in
            "\(name)_bucket{server_port=\"80\",le=\"\(bound)\"} \(count)"
        }
        let lines = lines(of: table(.requestDuration, attributes, values: values))
        #expect(Array(lines[2..<17]) == expected)
        #expect(lines[17] == "\(name)_sum{server_port=\"80\"} \(values.reduce(0, +))")
        #expect(lines[18] == "\(name)_count{server_port=\"80\"} 7")
    }

    @Test(arguments: [
        ("/users/{id}", "/users/{id}"), ("a\"b", #"a\"b"#), ("a\\b", #"a\\b"#), ("a\nb", #"a\nb"#),
        ("a\r\nb", "a\r\\nb"), (#"\n"#, #"\\n"#), ("é=,{}", "é=,{}"), ("a\0b", "a\u{fffd}b"), ("", ""),
    ])
    func `The value of a label is escaped`(_ value: String, _ escaped: String) {
        let attributes = [Attribute(name: "url.template", value: value)]
        let text = PrometheusText.text(of: table(.retries, attributes, values: [1]).sorted)
        #expect(text.hasSuffix("\nbluebonnet_client_retries_total{url_template=\"\(escaped)\"} 1\n"))
    }

    @Test func `A gauge is the sum of its changes`() {
        let lines = lines(of: table(.activeRequests, values: [1, 1, -1]))
        #expect(lines[2] == "http_client_active_requests 1")
    }

    @Test func `Sets beyond the limit share one set, and known sets keep their own`() {
        var table = MetricsTable(maximumSets: 3)
        for host in ["a", "b", "c", "d", "a"] {
            let attributes = [Attribute(name: "server.address", value: host)]
            for instrument in [Instrument.redirects, .retries] {
                table.add(MetricsMonitor.Measurement(instrument: instrument, attributes: attributes, value: 1))
            }
        }
        let name = "bluebonnet_client_retries_total"
        #expect(
            lines(of: table).filter { $0.hasPrefix(name) } == [
                "\(name){otel_metric_overflow=\"true\"} 2", "\(name){server_address=\"a\"} 2",
                "\(name){server_address=\"b\"} 1",
            ])
        #expect(table.sorted.count == 6, "each metric has its own sets")
    }

    @Test func `A limit of one set counts all in the set of the overflow`() {
        let figures = table(.retries, [Attribute(name: "a", value: "b")], values: [1, 1], maximumSets: 1).sorted
        #expect(figures.map(\.attributes) == [MetricsTable.overflow] && figures.map(\.sum) == [2])
    }

    @Test func `Without figures the text is empty`() {
        #expect(MetricsMonitor().prometheusText.isEmpty)
        #expect(MetricsMonitor().prometheusText().isEmpty)
        #expect("\(MetricsMonitor().prometheusText)".isEmpty)
    }

    private static let promtool = "/usr/bin/promtool"

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: promtool), "promtool is not installed"))
    func `Prometheus' own tool accepts all metrics, without complaints`() async throws {
        var table = MetricsTable(maximumSets: 3)
        for instrument in Instrument.allCases {
            for (index, value) in [0, 0.3, 1e9, 1.5e-7].enumerated() {
                let route = Attribute(name: "url.template", value: "a\"b\\c\nd\re\0f\u{2028}é{}=,\(index)")
                table.add(MetricsMonitor.Measurement(instrument: instrument, attributes: [route], value: value))
            }
        }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("metrics-\(UUID().uuidString).txt")
        try Data(PrometheusText.text(of: table.sorted).utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let script = "\(Self.promtool) check metrics < '\(file.path)' 2>&1"
        let outcome = try await Subprocess.run("/bin/bash", ["-c", script])
        #expect(outcome.code == 0 && outcome.output.isEmpty, "\(String(decoding: outcome.output, as: UTF8.self))")
    }
}
