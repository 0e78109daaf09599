import BluebonnetTesting
import FoundationEssentials
import Synchronization
import TestSupport
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct LimitTests {
    // MARK: Heads

    @Test func `a single field of more than 100 KB`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nX-Long: " + String(repeating: "a", count: 1 << 20)), .stall)
        let session = TestHarness.session()
        try await TestHarness.expect(
            session.request(server.url("/a")).serializingData(), in: session,
            failsWith: .invalidResponse(.headTooLarge(limit: 100 * 1024)),
            saying: "the head of the response is larger than 102400 bytes")
        try await TestHarness.end(session, server)
    }

    @Test func `a status line of more than 100 KB`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 200 " + String(repeating: "a", count: 1 << 20)), .stall)
        let session = TestHarness.session()
        try await TestHarness.expect(
            session.request(server.url("/a")).serializingData(), in: session,
            failsWith: .invalidResponse(.headTooLarge(limit: 100 * 1024)))
        try await TestHarness.end(session, server)
    }

    /// Libcurl accepts 5,000 fields since 8.14.0.
    @Test func `six thousand short fields`() async throws {
        let fields = (1...6000).map { "X-\($0): a\r\n" }.joined()
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + fields + "\r\n"), .stall)
        let session = TestHarness.session()
        let task = session.request(server.url("/a")).serializingData()
        if Libcurl.version < 0x08_0e_00 {
            #expect(await task.response.response?.headers.count == 6001)
        } else {
            try await TestHarness.expect(
                task, in: session, failsWith: .invalidResponse(.headTooLarge(limit: 256 * 1024)),
                saying: "more than 5,000 fields")
        }
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [4096, 100_000, 256 * 1024])
    func `endless fields`(limit: Int) async throws {
        let fields = (1...20_000).map { "X-\($0): \(String(repeating: "a", count: 50))\r\n" }.joined()
        let server = try await LocalServer.scripted(.waitForRequest, .bytes("HTTP/1.1 200 OK\r\n" + fields), .stall)
        let session = TestHarness.session { $0.maximumResponseHeadBytes = limit }
        let task = session.request(server.url("/a")).serializingData()
        try await TestHarness.expect(
            task, in: session, failsWith: .invalidResponse(.headTooLarge(limit: limit)),
            saying: "the head of the response is larger than \(limit) bytes")
        #expect(await task.response.response == nil)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [4096, 100_000])
    func `trailers without end`(limit: Int) async throws {
        let trailers = (1...20_000).map { "X-\($0): \(String(repeating: "a", count: 50))\r\n" }.joined()
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n" + trailers),
            .stall)
        let session = TestHarness.session { $0.maximumResponseHeadBytes = limit }
        try await TestHarness.expect(
            session.request(server.url("/a")).serializingData(), in: session,
            failsWith: .invalidResponse(.headTooLarge(limit: limit)))
        try await TestHarness.end(session, server)
    }

    @Test func `a head that exceeds libcurl's limit fails in the same way for any limit of the session`() async throws {
        let fields = (1...20_000).map { "X-\($0): \(String(repeating: "a", count: 50))\r\n" }.joined()
        let server = try await LocalServer.scripted(.waitForRequest, .bytes("HTTP/1.1 200 OK\r\n" + fields), .stall)
        let session = TestHarness.session { $0.maximumResponseHeadBytes = 1 << 30 }
        try await TestHarness.expect(
            session.request(server.url("/a")).serializingData(), in: session,
            failsWith: .invalidResponse(.headTooLarge(limit: 300 * 1024)), saying: "larger than 307200 bytes")
        try await TestHarness.end(session, server)
    }

    /// Libcurl reads 1030 as a final status code, although the first three digits are an informational status code.
    @Test func `a body after a status code of four digits is not treated as an endless head`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/2 1030\r\n\r\n"),
            .drip(String(repeating: "a", count: 20_000_000), piece: 10_000, every: .milliseconds(1)), .stall)
        let session = TestHarness.session { $0.timeouts = Timeouts(idle: .seconds(5), total: .seconds(20)) }
        try await TestHarness.expect(
            session.request(server.url("/a")).serializingData(), in: session, failsWith: .invalidResponse(.malformed))
        try await TestHarness.end(session, server)
    }

    @Test func `a head of exactly the limit's size`() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
        let server = try await TestHarness.server(answering: head + "ok")
        for (limit, isEnough) in [(head.utf8.count, true), (head.utf8.count - 1, false)] {
            let session = TestHarness.session { $0.maximumResponseHeadBytes = limit }
            let answer = await session.request(server.url("/a")).serializingString().response
            #expect(answer.value == (isEnough ? "ok" : nil))
            await session.shutdown()
        }
    }

    @Test func `trailers without end`() async throws {
        let trailers = (1...20_000).map { "X-\($0): \(String(repeating: "a", count: 50))\r\n" }.joined()
        let server = try await LocalServer.scripted(
            .waitForRequest,
            .bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n" + trailers + "\r\n"), .stall)
        let session = TestHarness.session()
        let answer = await session.request(server.url("/a")).serializingString().response
        // Whichever it is: it ends, and no trailer is kept.
        #expect(answer.value == "ok" || answer.error != nil)
        #expect(answer.response.map { $0.headers.count <= 1 } ?? true)
        await session.cancelAllRequests()
        try await TestHarness.end(session, server)
    }

    // MARK: Bodies

    /// Bytes keep arriving, but no byte belongs to the body.
    @Test func `an endless chunk extension causes an idle timeout`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;"),
            .drip(String(repeating: "a", count: 20_000_000), piece: 1000, every: .milliseconds(1)), .stall)
        let session = TestHarness.session { $0.timeouts = Timeouts(idle: .milliseconds(500)) }
        try await TestHarness.expect(
            session.request(server.url("/a")).serializingData(), in: session, failsWith: .timedOut(.idle))
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [nil, 10_000])
    func `chunks of one byte`(limit: Int64?) async throws {
        let chunks = String(repeating: "1\r\na\r\n", count: 100_000)
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n"), .stall)
        let session = TestHarness.session { $0.maximumResponseBytes = limit }
        let task = session.request(server.url("/a")).serializingData()
        if let limit {
            try await TestHarness.expect(task, in: session, failsWith: .invalidResponse(.bodyTooLarge(limit: limit)))
        } else {
            #expect(try await task.value.count == 100_000)
        }
        try await TestHarness.end(session, server)
    }

    @Test func `a body whose length exceeds the limit`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .data(Data(repeating: 65, count: 1_000_000)))
        }
        let session = TestHarness.session { $0.maximumResponseBytes = 100_000 }
        let task = session.request(server.url("/a")).serializingData()
        try await TestHarness.expect(
            task, in: session, failsWith: .invalidResponse(.bodyTooLarge(limit: 100_000)),
            saying: "the body of the response is larger than 100000 bytes")
        let answer = await task.response
        #expect(answer.response?.statusCode == 200)
        #expect((answer.data?.count ?? 0) <= 100_000)
        try await TestHarness.end(session, server)
    }

    @Test func `a body without an end`() async throws {
        let server = try await LocalServer { router in
            router.get("/a") { _ in
                .stream { writer in
                    while true { try await writer.write(Data(repeating: 65, count: 65_536)) }
                }
            }
        }
        let session = TestHarness.session { $0.maximumResponseBytes = 1_000_000 }
        let task = session.request(server.url("/a")).serializingData()
        try await TestHarness.expect(
            task, in: session, failsWith: .invalidResponse(.bodyTooLarge(limit: 1_000_000)),
            saying: "the body of the response is larger than 1000000 bytes")
        #expect((await task.response.data?.count ?? 0) <= 1_000_000)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [(0, 0, true), (0, 1, false), (1000, 1000, true), (1000, 1001, false), (1000, 0, true)])
    func `a body of exactly the limit's size`(limit: Int, size: Int, isEnough: Bool) async throws {
        let server = try await LocalServer { router in
            router.get("/a", .data(Data(repeating: 65, count: size)))
        }
        let session = TestHarness.session { $0.maximumResponseBytes = Int64(limit) }
        let task = session.request(server.url("/a")).serializingData(emptyResponseCodes: [200])
        let answer = await task.response
        #expect(answer.value?.count == (isEnough ? size : nil))
        #expect(answer.error?.kind == (isEnough ? nil : .invalidResponse(.bodyTooLarge(limit: Int64(limit)))))
        try await TestHarness.end(session, server)
    }

    @Test func `a stub's body is limited like any other`() async throws {
        var configuration = Session.Configuration()
        configuration.maximumResponseBytes = 10
        let session = Session(configuration: configuration, transport: StubTransport { _ in .text("eleven bytes") })
        try await TestHarness.expect(
            session.request("http://example.com/a").serializingString(), in: session,
            failsWith: .invalidResponse(.bodyTooLarge(limit: 10)))
    }

    @Test(.measuresMemory)
    func `a gibibyte of zeros, compressed to a megabyte, fails at the limit with little memory`() async {
        // The test has its own process, so that its memory can be measured.
        await #expect(processExitsWith: .success) {
            let limit = 16 << 20
            let session = TestHarness.session { $0.maximumResponseBytes = Int64(limit) }
            let before = try ProcessMemory.peak()
            let url = try TestServers.nginx.url("/gzip/bytes/1073741824")
            let task = session.request(url).serializingData()
            let answer = await task.response
            #expect(answer.response?.headers["Content-Encoding"] == "gzip")
            try await TestHarness.expect(
                task, in: session, failsWith: .invalidResponse(.bodyTooLarge(limit: Int64(limit))),
                saying: "the body of the response is larger than \(limit) bytes")
            #expect((answer.data?.count ?? 0) <= limit)
            let growth = try ProcessMemory.peak() - before
            #expect(growth < 5 * limit, "\(growth) bytes for \(limit)")
            await session.shutdown()
        }
    }

    @Test func `the default limit stops a gibibyte of zeros`() async throws {
        let session = TestHarness.session()
        let limit = try #require(session.configuration.maximumResponseBytes)
        #expect(limit == 256 << 20)
        let task = session.request(try TestServers.nginx.url("/gzip/bytes/1073741824")).serializingData()
        try await TestHarness.expect(task, in: session, failsWith: .invalidResponse(.bodyTooLarge(limit: limit)))
        await session.shutdown()
    }
}

/// Returns the current or the maximum memory of this process.
enum ProcessMemory {
    /// The most that was resident at once, in bytes.
    static func peak() throws -> Int {
        let status = String(decoding: try Data(contentsOf: URL(filePath: "/proc/self/status")), as: UTF8.self)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(Int(line.filter(\.isNumber))) * 1024
    }
}
