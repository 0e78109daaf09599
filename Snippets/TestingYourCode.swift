// Tests code that sends requests, without a network and with a faulty server.

import Bluebonnet
import BluebonnetTesting
import Glibc

// snippet.client
/// The code to test, which uses an injected session.
struct WeatherClient: Sendable {
    var session = Session.default

    struct Report: Codable, Equatable, Sendable {
        var city: String
        var celsius: Double
    }

    func report(for city: String) async throws(RequestError) -> Report {
        try await session.request(
            "https://weather.example/reports", parameters: ["city": city]
        )
        .validate()
        .serializingDecodable(Report.self)
        .value
    }
}
// snippet.end

enum TestingYourCode {
    static func run() async throws {
        try await answers()
        await failures()
        try await sequences()
        await cancellation()
        try await realServer()
        print("All is as expected.")
    }

    static func answers() async throws {
        // snippet.stub
        let transport = StubTransport()
        transport.stub(
            .get, "/reports",
            .json(WeatherClient.Report(city: "Turku", celsius: -4)))
        let client = WeatherClient(session: Session(transport: transport))
        let report = try await client.report(for: "Turku")
        expect(report.celsius == -4)
        expect(transport.requests.last?.url.query() == "city=Turku")
        // snippet.end
    }

    static func failures() async {
        // snippet.failure
        let transport = StubTransport { request in
            request.url.query() == "city=Atlantis"
                ? .status(404) : .failure(RequestError(.timedOut(.idle)))
        }
        let client = WeatherClient(session: Session(transport: transport))
        do {
            _ = try await client.report(for: "Atlantis")
        } catch {
            expect(error.statusCode == 404)
        }
        do {
            _ = try await client.report(for: "Turku")
        } catch {
            expect(error.isTimeout)
        }
        // snippet.end
    }

    static func sequences() async throws {
        // snippet.sequence
        let transport = StubTransport()
        transport.stub(
            .get, "/reports", .status(503),
            .json(WeatherClient.Report(city: "Turku", celsius: 3)))
        let client = WeatherClient(session: Session(transport: transport))
        let first = try? await client.report(for: "Turku")
        let second = try await client.report(for: "Turku")
        expect(first == nil && second.celsius == 3)
        // snippet.end
    }

    static func cancellation() async {
        // snippet.never
        let transport = StubTransport { _ in .never }
        let client = WeatherClient(session: Session(transport: transport))
        let task = Task { try await client.report(for: "Turku") }
        _ = try? await transport.request(1)  // the request was sent
        task.cancel()
        let result = await task.result
        // snippet.end
        expect((result.failure as? RequestError)?.isCancellation == true)
    }

    static func realServer() async throws {
        // snippet.server
        let server = try await LocalServer { router in
            router.get("/reports", .json(["city": "Turku"]))
            let beginning =
                "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this much"
            router.get("/torn", .script(.text(beginning), .reset))
        }
        let session = Session()
        let whole = await session.request(server.url("/reports"))
            .serializingJSON().response
        let torn = await session.request(server.url("/torn"))
            .serializingData().response
        expect(whole.value?["city"] == "Turku")
        expect(torn.error?.kind == .connection(.lost))
        expect(server.requests.map(\.path) == ["/reports", "/torn"])
        // snippet.end
    }
}

/// Checks a condition, like Swift Testing's `#expect`.
func expect(_ isRight: Bool, line: Int = #line) {
    guard !isRight else { return }
    print("line \(line): not as expected")
    exit(1)
}

extension Result {
    var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}

try await TestingYourCode.run()
