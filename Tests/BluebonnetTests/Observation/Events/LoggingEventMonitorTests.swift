import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

@Suite(.timeLimit(.minutes(10))) struct LoggingEventMonitorTests {
    private let lines = Locked<[String]>([])

    private func session(
        _ level: LoggingEventMonitor.Level, interceptor: (any RequestInterceptor)? = nil, _ transport: StubTransport
    ) -> Session {
        let lines = lines
        let monitor = LoggingEventMonitor(level: level) { line in lines.withLock { $0.append(line) } }
        return Session(interceptor: interceptor, eventMonitors: [monitor], transport: transport)
    }

    /// The written lines, without the number in front of each.
    private func written() -> [String] {
        lines.withLock { $0 }.map { line in String(line.drop { $0 != " " }.dropFirst()) }
    }

    @Test func `A line contains the outcome of a request`() async throws {
        let transport = StubTransport()
        transport.stub(nil, "/", .status(503), .text("x"))
        let session = session(.brief, interceptor: Retrier { _, _, _ in .retry }, transport)
        let request = session.request("http://stub.test/?q=1").validate()
        _ = try await request.serializingString().value
        await session.shutdown()
        let lines = written().map { $0.replacing(#/ after [0-9.e-]+ seconds/#, with: "") }
        let (name, error) = ("GET http://stub.test/?q=<redacted>", "unacceptable")
        #expect(lines.count == 6)
        #expect(lines[0] == "\(name): sent" && lines[1] == "\(name): answered with 503")
        #expect(lines[2].hasPrefix("\(name): will be tried again: ") && lines[2].contains("503"), "\(error)")
        #expect(lines[3] == "\(name): sent, attempt 2" && lines[4] == "\(name): answered with 200")
        #expect(lines[5] == "finished")
        let prefix = "[\(request.id)] "
        #expect(self.lines.withLock { $0 }.allSatisfy { $0.hasPrefix(prefix) })
    }

    @Test(arguments: [LoggingEventMonitor.Level.brief, .headers])
    func `A message contains no secret and is one line`(level: LoggingEventMonitor.Level) async throws {
        let transport = StubTransport { request in
            request.url.path == "/lost"
                ? .failure(RequestError(.connection(.lost)))
                : .response(
                    status: 401,
                    headers: ["Set-Cookie": "sid=s3cret", "X-Api-Key": "s3cret", "Location-Token": "s3cret"],
                    body: Data(#"{"password":"s3cret"}"#.utf8))
        }
        let session = session(level, transport)
        for path in ["a", "lost"] {
            _ = await session.request(
                "http://user:s3cret@stub.test/\(path)?token=s3cret&page=s3cret#f=s3cret", method: .post,
                parameters: ["password": "s3cret"], headers: ["Authorization": "Bearer s3cret", "Cookie": "a=s3cret"]
            ).validate().serializingString().response
        }
        _ = await session.request("nothing://user:s3cret@stub.test/?a=s3cret").serializingString().response
        await session.shutdown()
        let lines = written()
        #expect(lines.count >= 8)
        for line in lines {
            #expect(!line.contains("s3cret"))
            #expect(!line.contains { $0.isNewline })
        }
        #expect(lines.contains { $0.contains("Authorization: <redacted>") } == (level == .headers))
    }

    @Test func `A serializer that fails has a line, unless the request itself failed`() async throws {
        let transport = StubTransport()
        transport.stub(nil, "/", .text("not JSON"))
        let session = session(.brief, transport)
        for path in ["", "missing"] {
            _ = await session.request("http://stub.test/\(path)").validate().serializingDecodable(Int.self).response
        }
        await session.shutdown()
        let failures = written().filter { $0.hasPrefix("serialization failed: ") }
        #expect(failures.count == 1 && failures[0].contains("GET http://stub.test/]"), "\(written())")
    }

    @Test func `A redirect, a cancellation and a suspension are logged as a line`() async throws {
        let transport = StubTransport()
        transport.stub(nil, "/a", .response(status: 302, headers: ["Location": "/b?c=d"]))
        transport.stub(nil, "/b", .delayed(.seconds(100), .text("x")))
        let session = session(.brief, transport)
        let task = session.request("http://stub.test/a").serializingString()
        _ = try await transport.request(2)
        task.suspend()
        task.cancel()
        _ = await task.response
        await session.shutdown()
        let lines = written()
        #expect(lines.contains("is redirected to GET http://stub.test/b?c=<redacted>"))
        #expect(lines.contains("was suspended") && lines.contains("was cancelled"))
        #expect(lines.last?.hasPrefix("failed: the request was cancelled") == true)
    }
}
