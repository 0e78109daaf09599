// Collects metrics of requests for Prometheus, and logs requests as JSON.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum Metrics {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.get("/users/1", .json(["name": "Ada"]))
            router.get("/old", .redirect(to: "/users/1"))
        }

        // snippet.session
        let metrics = MetricsMonitor()
        let session = Session(eventMonitors: [metrics])
        // snippet.end

        // snippet.route
        let request = session.request(server.url("/users/1")).tag(
            RouteTag.self, "/users/{id}")
        let user = try await request.validate().serializingJSON().value
        // snippet.end
        print(user["name"]?.string ?? "no name")
        for path in ["/old", "/missing"] {
            _ = await session.request(server.url(path))
                .validate().serializingJSON().response
        }

        // snippet.snapshot
        for series in metrics.snapshot()
        where series.instrument == .requestDuration {
            let labels = series.attributes.map { "\($0.name)=\($0.value)" }
                .joined(
                    separator: " ")
            print(
                "\(labels): \(series.count) exchanges in \(series.sum) seconds")
        }
        // snippet.end
        try write(
            metrics,
            to: FileManager.default.temporaryDirectory.appendingPathComponent(
                "bluebonnet.prom"))
        try await serve(metrics, of: session)
        await session.shutdown()
        await logs(server.url)
    }

    // snippet.file
    /// Replaces a file for node_exporter's textfile collector, which must never
    /// see a part of it.
    static func write(_ metrics: MetricsMonitor, to file: URL) throws {
        try Data(metrics.prometheusText.utf8).write(
            to: file, options: .atomic)
    }
    // snippet.end

    static func serve(_ metrics: MetricsMonitor, of session: Session)
        async throws
    {
        // Your own server takes the place of the server for tests.
        // snippet.serve
        let server = try await LocalServer { router in
            router.get("/metrics") { _ in
                metrics.record(await session.connectionCounts())
                return .text(
                    metrics.prometheusText,
                    headers: [
                        "Content-Type":
                            "text/plain; version=0.0.4; charset=utf-8"
                    ])
            }
        }
        // snippet.end
        let text = try await Session().request(server.url("/metrics"))
            .validate().serializingString().value
        for line in text.split(separator: "\n")
        where line.hasPrefix("bluebonnet_client_requests_total") { print(line) }
    }

    static func logs(_ url: URL) async {
        // snippet.json
        let log = LogRecordMonitor.json(level: .headers) { line in print(line) }
        let session = Session(eventMonitors: [log])
        // snippet.end
        _ = await session.request(url).serializingNothing().response
        await session.shutdown()
    }
}

try await Metrics.run()
