import BluebonnetTesting
import Foundation
import TestSupport
import Testing

@testable import Bluebonnet

/// Debian's Prometheus scrapes a monitor, and tells what it has read.
@Suite(.timeLimit(.minutes(10))) struct PrometheusScrapeTests {
    private struct Answer<Value: Decodable & Sendable>: Decodable, Sendable {
        let data: Value
    }

    private struct Vector: Decodable, Sendable {
        struct Sample: Decodable, Sendable {
            let metric: [String: String]
            let value: (Double, String)

            private enum CodingKeys: CodingKey { case metric, value }

            init(from decoder: any Decoder) throws {
                let values = try decoder.container(keyedBy: CodingKeys.self)
                metric = try values.decode([String: String].self, forKey: .metric)
                var pair = try values.nestedUnkeyedContainer(forKey: .value)
                value = (try pair.decode(Double.self), try pair.decode(String.self))
            }
        }

        let result: [Sample]
    }

    private struct Metadata: Decodable, Sendable {
        let metric: String
        let type: String
        let help: String
    }

    private struct Targets: Decodable, Sendable {
        struct Target: Decodable, Sendable {
            let health: String
            let lastError: String
        }

        let activeTargets: [Target]
    }

    /// Starts Prometheus for two targets of a server; gives the body the URL of its API.
    private func withPrometheus(scraping server: LocalServer, _ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "bluebonnet-prometheus-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let jobs = ["traffic", "everything"].map {
            "{job_name: \($0), metrics_path: /\($0), static_configs: [{targets: ['127.0.0.1:\(server.port)']}]}"
        }
        let global = "{scrape_interval: 2s, scrape_timeout: 2s}"
        let settings = "{global: \(global), scrape_configs: [\(jobs.joined(separator: ", "))]}"
        let file = folder.appending(path: "prometheus.yml").path(percentEncoded: false)
        try Data(settings.utf8).write(to: URL(filePath: file))
        let data = folder.appending(path: "data").path(percentEncoded: false)
        let script = """
            exec prometheus --config.file '\(file)' --storage.tsdb.path '\(data)' \
            --web.listen-address 127.0.0.1:0 2>&1
            """
        let prometheus = try LineOutputProgram(command: ["/bin/bash", "-c", script])
        defer { prometheus.send(SIGKILL) }
        var printed: [String] = []
        var (port, isReady) = (Substring?.none, false)
        for await line in prometheus.lines {
            printed.append(line)
            port = line.firstMatch(of: /"Listening on" address=127\.0\.0\.1:(\d+)/)?.1 ?? port
            // The two lines may come in any order.
            isReady = isReady || line.contains("Server is ready")
            guard let port, isReady else { continue }
            return try await body("http://127.0.0.1:\(port)/api/v1")
        }
        Issue.record("Prometheus does not start: \(printed)")
    }

    /// Asks Prometheus until it has read both targets, and answers with a list that is not empty.
    private func query(_ text: String, _ api: String, _ session: Session) async throws -> [Vector.Sample] {
        while true {
            let request = session.request("\(api)/query", parameters: ["query": text]).validate()
            let samples = try await request.serializingDecodable(Answer<Vector>.self).value.data.result
            if !samples.isEmpty { return samples }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// The metrics of real exchanges: two responses, a failed attempt that was repeated, a redirect.
    private func monitorOfTraffic() async throws -> MetricsMonitor {
        let attempts = Locked(0)
        let server = try await LocalServer { router in
            router.get("/users/1", .text("Ada"))
            router.get("/old", .redirect(to: "/users/1"))
            router.get("/slow") { _ in
                let isFirst = attempts.withLock { count in
                    count += 1
                    return count == 1
                }
                return isFirst ? .status(503) : .text("fine")
            }
        }
        let metrics = MetricsMonitor()
        let session = Session(interceptor: Retrier { _, _, _ in .retry }, eventMonitors: [metrics])
        for path in ["/users/1", "/old", "/slow"] {
            let request = session.request(server.url(path)).tag(RouteTag.self, "/users/\"{id}\"\\n").validate()
            _ = try await request.serializingString().value
        }
        await session.shutdown()
        return metrics
    }

    /// All instruments, with values and labels that are hard to write.
    private func everything() -> MetricsTable {
        var table = MetricsTable(maximumSets: 3)
        for instrument in MetricsMonitor.Instrument.allCases {
            for (index, value) in [0, 0.3, 1e9, 1.5e-7].enumerated() {
                let route = MetricsMonitor.Attribute(
                    name: "url.template", value: "a\"b\\c\nd\re\0f\u{2028}é{}=,\(index)")
                table.add(MetricsMonitor.Measurement(instrument: instrument, attributes: [route], value: value))
            }
        }
        return table
    }

    @Test func `Prometheus reads every line, with its type, its labels and its value`() async throws {
        let texts = [
            "/traffic": try await monitorOfTraffic().prometheusText,
            "/everything": PrometheusText.text(of: everything().sorted),
        ]
        let server = try await LocalServer { router in
            for (path, text) in texts {
                router.get(path) { _ in .text(text, headers: ["Content-Type": "text/plain; version=0.0.4"]) }
            }
        }
        let session = Session()
        try await withPrometheus(scraping: server) { api in
            for (path, text) in texts {
                let job = path.dropFirst()
                let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
                #expect(lines.count > 100)
                let count = try await query("scrape_samples_scraped{job=\"\(job)\"}", api, session)
                #expect(count.map(\.value.1) == ["\(lines.count)"])
                // Three samples of Prometheus are about the target itself, and two about its scrape.
                let samples = try await query("{job=\"\(job)\", __name__!~\"up|scrape_.*\"}", api, session)
                #expect(samples.count == lines.count)
                #expect(try await query("up{job=\"\(job)\"}", api, session).map(\.value.1) == ["1"])
            }
            try await checkTraffic(api, session)
            try await checkTypes(api, session)
            let targets = try await session.request("\(api)/targets").serializingDecodable(Answer<Targets>.self).value
            #expect(targets.data.activeTargets.map(\.health) == ["up", "up"])
            #expect(targets.data.activeTargets.map(\.lastError) == ["", ""])
        }
    }

    private func checkTraffic(_ api: String, _ session: Session) async throws {
        let route = #"job="traffic", url_template="/users/\"{id}\"\\n""#
        for (query, expected) in [
            ("sum(bluebonnet_client_requests_total{\(route)})", "3"),
            ("sum(bluebonnet_client_retries_total{\(route)})", "1"),
            ("sum(bluebonnet_client_redirects_total{\(route)})", "1"),
            ("sum(http_client_request_duration_seconds_count{\(route)})", "5"),
            ("sum(http_client_request_duration_seconds_bucket{\(route), le=\"+Inf\"})", "5"),
            ("sum(http_client_request_duration_seconds_count{\(route), error_type=\"503\"})", "1"),
            ("sum(http_client_response_body_size_bytes_sum{\(route), http_response_status_code=\"200\"})", "10"),
            ("sum(http_client_active_requests{job=\"traffic\"})", "0"),
            ("sum(http_client_request_duration_seconds_bucket{\(route), le=\"10\"})", "5"),
        ] {
            #expect(try await self.query(query, api, session).map(\.value.1) == [expected], "\(query)")
        }
    }

    private func checkTypes(_ api: String, _ session: Session) async throws {
        let request = session.request("\(api)/targets/metadata", parameters: ["match_target": "{job=\"everything\"}"])
        let metadata = try await request.validate().serializingDecodable(Answer<[Metadata]>.self).value.data
        let lines = PrometheusText.text(of: everything().sorted).split(separator: "\n")
        let described = lines.filter { $0.hasPrefix("# TYPE ") }
        #expect(Set(metadata.map { "# TYPE \($0.metric) \($0.type)" }) == Set(described.map { String($0) }))
        #expect(Set(metadata.map(\.help)) == Set(MetricsMonitor.Instrument.allCases.map(\.summary)))
    }
}
