import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

@Suite(.timeLimit(.minutes(10))) struct EventSequenceTests {
    /// Runs a scenario, and returns the events that a monitor received.
    private func events(of scenario: EventScenario) async throws -> EventLog {
        let (gate, busy) = (Gate(), Counter())
        let server = try await LocalServer { router in
            router.get("/ok") { _ in .text("one\ntwo") }
            router.get("/late") { _ in
                await gate.wait()
                return .text("late")
            }
            router.get("/busy") { _ in .text("x", status: busy.next() == 1 ? 503 : 200) }
            router.get("/redirect") { _ in .redirect(to: "/ok") }
            router.post("/echo") { _ in .text("echo") }
        }
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.timeouts = Timeouts(connect: .seconds(120), idle: .seconds(120))
        scenario.configure(&configuration)
        let log = EventLog()
        let session = Session(
            configuration: configuration, interceptor: scenario.interceptor, eventMonitors: [log],
            startRequestsImmediately: scenario.startsImmediately)
        try await scenario.run(EventScenario.ScenarioSession(session: session, server: server, gate: gate))
        await session.shutdown()
        gate.open()
        await server.stop()
        return log
    }

    @Test(arguments: EventScenario.all)
    func `A monitor receives every event, in order`(_ scenario: EventScenario) async throws {
        let log = try await events(of: scenario)
        #expect(log.lines == scenario.events)
    }

    @Test func `A monitor receives the elements of a stream`() async throws {
        let scenario = try #require(EventScenario.kinds.first { $0.testDescription == "stream" })
        let log = try await events(of: scenario)
        #expect(log.all.map(\.text).filter { $0.hasPrefix("element") } == ["element one", "element two"])
    }

    @Test func `A refused certificate ends the exchange early`() async throws {
        let transport = StubTransport()
        transport.stub(nil, "/", .failure(RequestError(.trust(.notEvaluated))))
        let log = EventLog()
        let session = Session(eventMonitors: [log], transport: transport)
        _ = await session.request("http://stub.test/").serializingData().response
        await session.shutdown()
        #expect(log.lines.contains("early 1: trust") && log.lines.contains("complete 1: trust"))
    }

    @Test func `A download that resumes automatically is retried`() async throws {
        let attempts = Counter()
        let server = try await LocalServer { router in
            router.get("/file") { _ in
                attempts.next() == 1
                    ? .script(
                        .bytes(
                            "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nETag: \"a\"\r\nAccept-Ranges: bytes\r\n\r\nabc"),
                        .close)
                    : .text("def", status: 206, headers: ["Content-Range": "bytes 3-5/6", "ETag": "\"a\""])
            }
        }
        let log = EventLog()
        let session = Session(eventMonitors: [log])
        let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let destination = DownloadDestination.file(
            folder.appending(path: "file"), options: [.automaticallyResume, .createIntermediateDirectories])
        let body = try await session.download(server.url("/file"), to: destination).serializingData().value
        #expect(String(decoding: body, as: UTF8.self) == "abcdef")
        await session.shutdown()
        let events = log.lines.map { $0.hasPrefix("again") ? "again" : $0 }
        let second = try #require(events.firstIndex(of: "retrying"))
        #expect(events[second - 1] == "again")
        #expect(
            Array(events[(second + 1)...]) == [
                "initial", "created", "task 2 of attempt 2", "head 206", "metrics", "complete 2", "destination",
                "file of 2", "Data", "finish",
            ])
        await server.stop()
    }
}
