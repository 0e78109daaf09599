// Records the exchanges with a server as a HAR file, and replays them without
// the server.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Synchronization

// snippet.wrapper
/// Sends requests with libcurl, and counts the exchanges.
final class CountingTransport: WrappingTransport {
    let inner: any Transport = CurlTransport()
    private let started = Atomic(0)

    var count: Int { started.load(ordering: .relaxed) }

    func start(
        _ request: HTTPRequest, options: ExchangeOptions,
        observer: any ExchangeObserver
    ) -> any Exchange {
        started.add(1, ordering: .relaxed)
        return inner.start(request, options: options, observer: observer)
    }
}
// snippet.end

enum RecordAndReplay {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.get("/reports/1", .json(["city": "Turku"]))
            router.get("/latest", .redirect(to: "/reports/1"))
            router.post("/reports") { request in
                .data(
                    request.body, contentType: "application/json", status: 201)
            }
        }
        let file = FileManager.default.temporaryDirectory.appending(
            path: "reports.har")
        try await record(server, file)
        await server.stop()
        try await replay(server, file)
        try await fixture(server, file)
        try FileManager.default.removeItem(at: file)
    }

    static func record(_ server: LocalServer, _ file: URL) async throws {
        let counter = CountingTransport()
        // snippet.record
        let recorder = HARRecorder(counter)
        let session = Session(transport: recorder)
        _ = try await session.request(server.url("/latest"))
            .serializingJSON().value
        _ = try await session.request(
            server.url("/reports"), method: .post,
            parameters: ["city": "Oulu", "password": "hunter2"], encoder: .json
        ).serializingJSON().value
        try await recorder.save(to: file)
        await session.shutdown()
        // snippet.end
        let isSafe = try !String(contentsOf: file, encoding: .utf8).contains(
            "hunter2")
        print(
            "Recorded \(counter.count) exchanges, \(isSafe ? "without" : "with") the password."
        )
    }

    static func replay(_ server: LocalServer, _ file: URL) async throws {
        // snippet.replay
        let transport = try StubTransport(har: file)
        let session = Session(transport: transport)
        let report = try await session.request(server.url("/latest"))
            .serializingJSON().value
        print(report["city"]?.string ?? "?")

        // This request was not recorded. The error names the nearest request
        // that was.
        let error = await session.request(server.url("/reports/2"))
            .serializingJSON().response.error
        print(error?.detail ?? "?")
        // snippet.end
        await session.shutdown()
    }

    static func fixture(_ server: LocalServer, _ file: URL) async throws {
        // snippet.lenient
        let transport = try StubTransport(har: file, matching: .lenient)
        transport.stub(.get, "/reports/2", .status(404))
        let session = Session(transport: transport)
        for _ in 1...3 {
            let report = try await session.request(
                "https://reports.example/reports/1"
            ).serializingJSON().value
            print(report["city"]?.string ?? "?")
        }
        // snippet.end
        await session.shutdown()
    }
}

try await RecordAndReplay.run()
