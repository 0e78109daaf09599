import Bluebonnet
import BluebonnetTesting
import Foundation
import TestSupport
import Testing

/// Speed limits on the wire.
///
/// A lower bound of the time holds on any machine. `SpeedQueueTests` has the upper one, with a clock of its own.
@Suite(.timeLimit(.minutes(10))) struct SpeedLimitTests {
    private static let size = 1 << 20

    private func session(_ configure: (inout Session.Configuration) -> Void = { _ in }) -> Session {
        var configuration = Session.Configuration()
        configuration.tls.caFile = try? TestCertificates().authority
        configure(&configuration)
        return Session(configuration: configuration)
    }

    /// Runs work whose bytes take `seconds` at its limit.
    private func checkTime(of seconds: Double, _ work: () async throws -> Void) async throws {
        let elapsed = try await ContinuousClock().measure(work)
        #expect(elapsed >= .seconds(seconds * 0.95), "\(elapsed)")
    }

    @Test(arguments: [TestServers.nginx, .nginxTLS], [1, 4])
    func `A response takes the time that its limit demands`(server: TestServers, parts: Int) async throws {
        let session = session()
        let url = try server.url("/bytes/\(Self.size)")
        try await checkTime(of: 1 / Double(parts)) {
            let request = session.request(url).speedLimits(download: Int64(Self.size * parts))
            let value = try await request.serializingData().value.count
            #expect(value == Self.size)
        }
    }

    @Test func `A compressed response counts by its bytes on the network`() async throws {
        let session = session()
        let url = try TestServers.nginx.url("/gzip/bytes/\(Self.size)")
        let plain = session.request(url).serializingData()
        #expect(try await plain.value.count == Self.size)
        let received = try #require(await plain.response.metrics?.bytesReceived)
        try await checkTime(of: 0.45) {
            let limited = session.request(url).speedLimits(download: received * 2).serializingData()
            let (value, expected) = (try await limited.value, try await plain.value)
            #expect(value == expected)
        }
    }

    /// Beside a control in the same session; otherwise, each of the others would get its turn first.
    @Test func `Suspended requests do not use the session's limit`() async throws {
        let session = session { $0.speedLimits.download = 256 << 10 }
        let small = try TestServers.nginx.url("/bytes/65536")
        func time() async throws -> Duration {
            try await ContinuousClock().measure {
                let value = try await session.request(small).serializingData().value.count
                #expect(value == 65536)
            }
        }
        let alone = try await time()
        let others = try (0..<64).map { _ in session.request(try TestServers.nginx.url("/bytes/\(Self.size)")) }
        let tasks = others.map { $0.serializingData() }
        for request in others {
            for await progress in request.downloadProgressUpdates() where progress.completed > 0 { break }
        }
        for request in others { request.suspend() }
        #expect(try await time() < alone * 3 + .seconds(1))
        others[0].resume()
        #expect(try await tasks[0].value.count == Self.size)
        for request in others { request.cancel() }
        await session.shutdown()
    }

    @Test(arguments: [TestServers.nginx, .nginxTLS])
    func `The responses of a session share its limit evenly`(server: TestServers) async throws {
        let session = session { $0.speedLimits.download = 4 << 20 }
        let url = try server.url("/bytes/\(Self.size)")
        try await checkTime(of: 1) {
            try await withThrowingTaskGroup(of: Duration.self) { group in
                let clock = ContinuousClock()
                let start = clock.now
                for _ in 0..<4 {
                    group.addTask {
                        let value = try await session.request(url).serializingData().value.count
                        #expect(value == Self.size)
                        return start.duration(to: clock.now)
                    }
                }
                var times: [Duration] = []
                for try await time in group { times.append(time) }
                // Unshared, the first one would need a quarter of the time.
                #expect(times[0] > times[3] * 0.35, "\(times)")
            }
        }
    }

    enum Body: CaseIterable { case data, file, sequence }

    @Test(arguments: Body.allCases, [true, false])
    func `A request body takes the time that its limit demands`(kind: Body, ofSession: Bool) async throws {
        let session = session { if ofSession { $0.speedLimits.upload = 2 << 20 } }
        let data = Data(repeating: 7, count: Self.size)
        let directory = try TestDirectory()
        let body: RequestBody
        switch kind {
        case .data: body = .data(data)
        case .file:
            try data.write(to: directory.url("body"))
            body = .file(directory.url("body"))
        case .sequence:
            body = .stream(length: Int64(data.count)) {
                AsyncStream {
                    $0.yield(data); $0.finish()
                }
            }
        }
        let url = try TestServers.nginx.url("/discard")
        try await checkTime(of: 0.5) {
            let request = session.request(url, method: .put) {
                $0.body = body
                if !ofSession { $0.speedLimits = SpeedLimits(upload: 2 << 20) }
            }
            let value = try await request.serializingString().value
            #expect(value == "\(Self.size)\n")
        }
    }

    @Test func `The own limit and the session's both apply`() async throws {
        let session = session { $0.speedLimits.download = 2 << 20 }
        let url = try TestServers.nginx.url("/bytes/\(Self.size)")
        try await checkTime(of: 1) {
            async let slow = session.request(url).speedLimits(download: 1 << 20).serializingData().value
            async let fast = session.request(url).speedLimits(download: 100 << 20).serializingData().value
            let count = try await slow.count + fast.count
            #expect(count == Self.size * 2)
        }
    }

    @Test(.measuresTime)
    func `A stream and a download are limited, and a slow limit is no idle server`() async throws {
        let session = session { $0.timeouts.idle = .seconds(1) }
        let url = try TestServers.nginx.url("/bytes/\(Self.size / 16)")
        let directory = try TestDirectory()
        let destination = directory.url("a")
        // A piece of 16 KiB waits for 1.3 seconds, which is longer than the idle limit.
        try await checkTime(of: 5.2) {
            async let file = session.download(url, to: .file(destination)).speedLimits(download: 12 << 10)
                .serializingURL().value
            let task = session.streamRequest(url).speedLimits(download: 12 << 10).streamTask()
            var (count, largest) = (0, 0)
            for try await bytes in task.bytes {
                count += bytes.count
                largest = max(largest, bytes.count)
            }
            #expect(count == Self.size / 16)
            #expect(largest <= 32 << 10)
            _ = try await file
        }
    }

    @Test func `Waiting requests can be cancelled, suspended and shut down`() async throws {
        let session = session { $0.speedLimits = SpeedLimits(upload: 1, download: 1) }
        let url = try TestServers.nginx.url("/bytes/\(Self.size)")
        let requests = (0..<20).map { _ in session.request(url) }
        let tasks = requests.map { $0.serializingData() }
        async let values: Void = {
            for (index, task) in tasks.enumerated() {
                let error = await task.response.error
                #expect(error?.kind == .cancelled, "\(index)")
            }
        }()
        let upload = session.upload(Data(repeating: 1, count: 100), to: try TestServers.nginx.url("/discard"))
        async let uploaded = upload.serializingData().response.error
        try await Task.sleep(for: .milliseconds(100))
        for request in requests[5..<15] { request.suspend() }
        for request in requests[8..<15] { request.resume() }
        for request in requests[..<10] { request.cancel() }
        await session.shutdown(within: .milliseconds(50))
        await values
        #expect(await uploaded?.kind == .cancelled)
    }

    /// 200 bodies of 10 bytes need 0.2 seconds, and not 0.1 seconds each, which a whole portion would take.
    @Test func `Small bodies count by their own size`() async throws {
        let server = try await LocalServer { router in
            router.post("/") { .text("\($0.body.count)") }
        }
        let session = session { $0.speedLimits = SpeedLimits(upload: 10_000, download: 10_000) }
        let free = self.session()
        let time = { @Sendable (session: Session) in
            try await ContinuousClock().measure {
                for _ in 0..<200 {
                    let request = session.request(server.url("/"), method: .post) { $0.body = .data(Data(count: 10)) }
                    let text = try await request.serializingString().value
                    #expect(text == "10")
                }
            }
        }
        // A busy machine delays both.
        async let control = time(free)
        let elapsed = try await time(session)
        #expect(elapsed >= .seconds(0.15), "\(elapsed)")
        #expect(try await elapsed < control * 2 + .seconds(15), "\(elapsed)")
        await free.shutdown()
        try await TestHarness.end(session, server)
    }

    @Test func `A limit in a chain keeps the limit of the other direction`() async throws {
        let server = try await LocalServer { router in router.get("/") { _ in .text("a") } }
        let session = session()
        let request = session.request(server.url("/")) { $0.speedLimits = SpeedLimits(upload: 5, download: 6) }
            .speedLimits(upload: 100).speedLimits(download: 200).speedLimits()
        _ = try await request.serializingString().value
        #expect(request.request?.speedLimits == SpeedLimits(upload: 100, download: 200))
        let other = session.request(server.url("/")) { $0.speedLimits = SpeedLimits(upload: 5) }.speedLimits(
            download: 9)
        _ = try await other.serializingString().value
        #expect(other.request?.speedLimits == SpeedLimits(upload: 5, download: 9))
        try await TestHarness.end(session, server)
    }

    @Test func `A limit below 1 is an error`() async throws {
        let url = try TestServers.nginx.url("/bytes/1")
        let errors = [
            await session { $0.speedLimits.upload = 0 }.request(url).serializingData().response.error,
            await session().request(url).speedLimits(download: -5).serializingData().response.error,
        ]
        for (error, value) in zip(errors, ["speedLimits.upload: 0", "speedLimits.download: -5"]) {
            let text = "\(value) is not a valid number of bytes per second"
            #expect(error?.kind == .invalidRequest(.configuration(text)))
        }
    }
}
