import BluebonnetTesting
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

/// Peers that occupy libcurl with frames that belong to no response.
///
/// One at a time: the server does not send fast enough for several. Without ``FloodGuard``, all but the flood of PINGs
/// last until the server ends them, after 20 s; nghttp2 ends the flood of PINGs by itself.
@Suite(.timeLimit(.minutes(10)), .measuresTime, .serialized) struct FloodTests {
    // MARK: What is seen, as a table

    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// The processor time in each interval of 15 ms, in milliseconds.
        var milliseconds: Int64 = 10
        /// What is read and reported in each interval.
        var read: [Int32: UInt64] = [5: 100_000]
        var reportedBytes: UInt64 = 0
        var storable: UInt64 = 0
        var paused: UInt64 = 0
        /// The number of pauses in each interval.
        var pauses: UInt64 = 0
        /// The number of streams that were cancelled before.
        var cancelledBefore: UInt64 = 0
        /// The number of streams that are cancelled in each interval, up to this interval.
        var cancelled: UInt64 = 0
        var lastCancelled = 400
        /// The number of the interval in which a socket is cut.
        var interval: Int?
        var socket: Int32 = 5
    }

    private static let window = FloodWindow.unreadBytes

    static let rows = [
        Row(testDescription: "much received, nothing reported", interval: 7),
        Row(testDescription: "on a machine with other work", milliseconds: 2, interval: 31),
        Row(testDescription: "not busy", milliseconds: 0),
        Row(testDescription: "a body arrives", reportedBytes: 90_000),
        Row(testDescription: "a body in small frames arrives", reportedBytes: 7000),
        Row(testDescription: "a byte from time to time", reportedBytes: 100, interval: 7),
        Row(testDescription: "busy with something else than the socket", read: [5: 100]),
        Row(testDescription: "too few bytes first", read: [5: 10_000], interval: 25),
        Row(testDescription: "the one of two that sends", read: [5: 100, 6: 50_000], interval: 7, socket: 6),
        Row(testDescription: "the bytes of other streams are stored", milliseconds: 2, storable: 100 << 20),
        Row(testDescription: "more than can be stored", storable: 1_500_000, interval: 25),
        Row(testDescription: "a paused stream", milliseconds: 2, read: [5: window / 200], paused: 1),
        Row(testDescription: "small frames beside a paused stream", read: [5: 50_000], paused: 1, interval: 49),
        Row(testDescription: "the same beside many", read: [5: 50_000], paused: 25, interval: 49),
        Row(testDescription: "more than a paused stream can store", read: [5: window / 16], paused: 1, interval: 25),
        Row(
            testDescription: "a stream is paused and continues", milliseconds: 2, read: [5: window / 200], pauses: 1),
        Row(testDescription: "two streams can store", read: [5: window / 12], pauses: 1, interval: 49),
        Row(testDescription: "streams were cancelled long before", cancelledBefore: 1000, interval: 7),
        Row(testDescription: "streams are cancelled", read: [5: window / 2], cancelled: 1),
        Row(
            testDescription: "a stream was cancelled", milliseconds: 2, read: [5: window / 200], cancelled: 1,
            lastCancelled: 1, interval: 299),
        Row(testDescription: "no socket", read: [:]),
    ]

    @Test(arguments: rows) func `a connection is closed if much was received and little was reported`(_ row: Row) {
        var window = FloodWindow()
        var cut: (interval: Int, socket: Int32)?
        for interval in 0..<400 {
            let count = UInt64(interval)
            let cancelled = row.cancelledBefore + row.cancelled * UInt64(min(interval, row.lastCancelled))
            let needsSample = window.needsSample(
                at: Int64(interval) * 15_000_000, processorTime: Int64(interval) * row.milliseconds * 1_000_000,
                cancelled: cancelled)
            guard needsSample, cut == nil else { continue }
            let sample = FloodWindow.FloodSample(
                reportedBytes: count * row.reportedBytes, read: row.read.mapValues { count * $0 },
                storable: row.storable, paused: row.paused, pauses: count * row.pauses, transfers: 2,
                cancelled: cancelled)
            if let socket = window.flooded(sample) { cut = (interval, socket) }
        }
        #expect(cut?.interval == row.interval)
        #expect(cut == nil || cut?.socket == row.socket)
    }

    /// The loop is busy for 45 ms, and then not for a quarter of a second; or it waits for the processor in between.
    @Test(arguments: [17, 8]) func `a pause ends the window`(pause: Int) {
        var window = FloodWindow()
        var (time, isCut): (Int64, Bool) = (0, false)
        for interval in 0..<200 {
            time += interval % (pause + 3) < 3 ? 15_000_000 : 0
            let needsSample = window.needsSample(
                at: Int64(interval) * 15_000_000, processorTime: time, cancelled: 0)
            guard needsSample else { continue }
            let sample = FloodWindow.FloodSample(reportedBytes: 0, read: [5: UInt64(interval) * 1_000_000])
            if window.flooded(sample) != nil { isCut = true }
        }
        #expect(isCut == (pause < 16))
    }

    /// Libcurl before 8.2 closes sockets silently, and a file may have the number then.
    @Test func `a descriptor that is now in use for another file is not closed`() throws {
        let monitor = FloodMonitor(counts: ReceiveCounts())
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        monitor.opened(descriptor)
        let file = unsafe open("/dev/zero", O_RDONLY)
        try #require(descriptor >= 0 && file >= 0 && dup2(file, descriptor) == descriptor)
        #expect(!monitor.end(descriptor))
        var byte: UInt8 = 1
        #expect(unsafe read(descriptor, &byte, 1) == 1 && byte == 0)
        // The number is that of another connection, which was opened after the sample.
        let (_, identities) = monitor.sample()
        let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(other >= 0 && dup2(other, descriptor) == descriptor)
        monitor.opened(descriptor)
        #expect(!monitor.end(descriptor, onlyIf: identities[Int(descriptor)]))
        #expect(monitor.end(descriptor))
        close(other)
        _ = monitor.close(descriptor)
        close(file)
    }

    /// Without another attempt, floods would last for as long as they wish from then on.
    @Test func `the guard starts again after the system had no thread for it`() {
        let attempts = Locked(0)
        let floodGuard = FloodGuard { _ in
            attempts.withLock { count in
                count += 1
                return count > 1
            }
        }
        let monitors = (0..<2).map { _ in FloodMonitor(counts: ReceiveCounts(), guardedBy: floodGuard) }
        for (index, expected) in [(0, 1), (0, 2), (0, 2), (1, 2)] {
            monitors[index].transferBegins()
            #expect(attempts.withLock(\.self) == expected)
        }
    }

    // MARK: On the wire

    static let kinds = ["data", "priority", "altsvc", "ping", "window"]

    /// The limits are compared with the limits for a silent server in the same run.
    @Test(arguments: kinds) func `a flood ends with a typed error, within the time of a silent server`(
        _ kind: String
    ) async throws {
        let session = try TestHarness.trustingSession {
            $0.timeouts = Timeouts(connect: .seconds(20), total: .seconds(2))
        }
        let clock = ContinuousClock()
        let start = clock.now
        let stall = try TestServers.misbehavingHTTP2.url("/stall")
        #expect(await session.request(stall).serializingData().response.error?.kind == .timedOut(.total))
        let silent = clock.now - start
        let url = try TestServers.misbehavingHTTP2.url("/flood?kind=\(kind)")
        let error = try #require(await session.request(url, method: .post).serializingData().response.error)
        // Newer ones call it lost when nghttp2 ends it.
        let isLost = kind == "ping" && error.kind == .connection(.lost)
        #expect(error.kind == .connection(.http2) || error.kind == .timedOut(.total) || isLost, "\(error)")
        let flooded = clock.now - start - silent
        #expect(flooded < silent * 2, "\(flooded), and \(silent) in silence")
        await session.shutdown()
    }

    @Test(arguments: kinds + ["keys", "keys of a lookup"])
    func `other requests of the session continue during a flood`(_ kind: String) async throws {
        let keys = try IdleTLSServer(before: [.keyUpdates])
        defer { keys.stop() }
        let control = try await LocalServer { $0.get("/", .text("right")) }
        let session = try TestHarness.trustingSession {
            $0.timeouts = Timeouts(connect: .seconds(20), total: .seconds(10))
            if kind == "keys of a lookup" { $0.dns.httpsServer = URL(string: keys.url) }
        }
        let other = TestHarness.session()
        let silence = try TestHarness.trustingSession {
            $0.timeouts = Timeouts(connect: .seconds(20), total: .seconds(1))
        }
        let clock = ContinuousClock()
        let start = clock.now
        let stall = try TestServers.misbehavingHTTP2.url("/stall")
        #expect(await silence.request(stall).serializingData().response.error?.kind == .timedOut(.total))
        let second = clock.now - start
        await silence.shutdown()
        let url =
            switch kind {
            case "keys": keys.url
            case "keys of a lookup": "http://flood.test/"
            default: try TestServers.misbehavingHTTP2.url("/flood?kind=\(kind)").description
            }
        let flood = session.request(url, method: .post)
        let task = flood.serializingData()
        func delay(of session: Session) async throws -> Duration {
            let start = clock.now
            #expect(try await session.request(control.url("/")).serializingString().value == "right")
            return clock.now - start
        }
        // The additional time compared with a session without a flood.
        var (slowest, count) = (Duration.zero, 0)
        while !flood.isFinished {
            async let beside = delay(of: session)
            async let apart = delay(of: other)
            slowest = max(slowest, try await beside - apart)
            count += 1
        }
        let error = try #require(await task.response.error)
        #expect(kind != "keys" || error.description.contains(FloodGuard.message), "\(error)")
        // Without the guard, keys delay them by 1.4 s, and the others by 12 s.
        #expect(slowest < second, "\(slowest), and \(second) for a second")
        print("\(count) neighbours of a flood of \(kind) wait up to \(slowest) longer")
        await session.shutdown()
        await other.shutdown()
        await control.stop()
    }

    /// The end of such a body is that of the connection, and more than a second lies between its head and the flood.
    @Test func `a flood of keys in a body without a length is no end of the body`() async throws {
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npart"
        let server = try IdleTLSServer(before: [.bytes(head), .silence(seconds: 2), .keyUpdates])
        defer { server.stop() }
        let session = try TestHarness.trustingSession()
        let error = try #require(await session.request(server.url, method: .post).serializingData().response.error)
        #expect(error.kind == .connection(.lost) && error.description.contains(FloodGuard.message), "\(error)")
        await session.shutdown()
    }

    /// Libcurl does not read the socket, so it does not notice the end by itself.
    @Test(arguments: [false, true]) func `a flood of keys on a WebSocket ends it`(_ isOpen: Bool) async throws {
        let server = try IdleTLSServer(before: isOpen ? [.acceptedWebSocket, .keyUpdates] : [.keyUpdates])
        defer { server.stop() }
        let session = try TestHarness.trustingSession()
        let task = session.webSocket(server.url.replacing("https", with: "wss")).webSocketTask()
        let (messages, error) = await WebSocketFixture.messages(task)
        #expect(messages.isEmpty && error?.kind == .connection(.lost), "\(error.map { "\($0)" } ?? "no error")")
        await session.shutdown()
    }

    /// Some GB of chunk extensions (RFC 9112 §7.1.1): one without an end, or 8,000 bytes before each byte of the body.
    @Test(arguments: ["1;", "1;x\r\na\r\n1;"])
    func `a flood of chunk extensions ends, and other requests continue`(_ chunk: String) async throws {
        let extensions = Array(chunk.utf8) + [UInt8](repeating: 0x65, count: 8000)
        let piece: [UInt8] =
            chunk == "1;"
            ? [UInt8](repeating: 0x65, count: 4 << 20)
            : Array(repeatElement(extensions + Array("\r\na\r\n".utf8), count: 500).joined())
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + (chunk == "1;" ? chunk : "")
        let script = LocalServer.Script(
            [.waitForRequest, .bytes(head)] + Array(repeating: .bytes(piece), count: 1000))
        let server = try await LocalServer.scripted { _ in script }
        let control = try await LocalServer { $0.get("/", .text("right")) }
        let session = TestHarness.session { $0.timeouts = Timeouts(connect: .seconds(20), total: .seconds(60)) }
        let flood = session.request(server.url("/"), method: .post)
        let task = flood.serializingData()
        var count = 0
        while !flood.isFinished {
            #expect(try await session.request(control.url("/")).serializingString().value == "right")
            count += 1
        }
        let error = try #require(await task.response.error)
        #expect(error.kind == .connection(.lost), "\(error)")
        #expect(error.description.contains(FloodGuard.message))
        print("\(count) other requests during \(server.traffic.bytesSent >> 20) MiB of chunk extensions")
        try await TestHarness.end(session, server)
        await control.stop()
    }

    /// Libcurl may have to store many bytes for suspended streams, but it needs less time for them.
    @Test func `a flood of small frames ends as soon beside suspended requests`() async throws {
        let preface: [LocalServer.Script.Step] = [.waitForBytes(24), .bytes([0, 0, 0, 4, 0, 0, 0, 0, 0] as [UInt8])]
        let goAway: [UInt8] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]
        let frames = Array(repeatElement(goAway, count: 250_000).joined())
        let silent = try await LocalServer.scripted { _ in LocalServer.Script(preface + [.stall]) }
        let server = try await LocalServer.scripted { _ in
            LocalServer.Script(preface + Array(repeating: .bytes(frames), count: 1000))
        }
        let session = TestHarness.session { $0.httpVersion = .http2PriorKnowledge }
        let suspended = (0..<20).map { session.upload(Data([1]), to: silent.url("/\($0)")) }
        let tasks = suspended.map { $0.serializingData() }
        for request in suspended {
            for await progress in request.uploadProgressUpdates() where progress.completed > 0 { break }
        }
        for request in suspended { request.suspend() }
        let clock = ContinuousClock()
        func end(of url: URL) async throws -> (time: Duration, error: RequestError) {
            let start = clock.now
            let request = session.request(url, method: .post).timeouts { $0.total = .seconds(2) }
            let error = try #require(await request.serializingData().response.error)
            return (clock.now - start, error)
        }
        let silence = try await end(of: silent.url("/"))
        let flood = try await end(of: server.url("/"))
        #expect(flood.error.description.contains(FloodGuard.message), "\(flood.error)")
        #expect(flood.time < silence.time * 2)
        for request in suspended { request.cancel() }
        for task in tasks { #expect(await task.response.error?.kind == .cancelled) }
        try await TestHarness.end(session, server)
        await silent.stop()
    }

    /// Libcurl continues to receive for a paused stream, up to its window, while another request waits.
    ///
    /// On a fast machine, the loop is busy for less time than the guard waits; see the table.
    @Test func `a stream that waits for its reader is no flood`() async throws {
        let session = try TestHarness.trustingSession()
        for _ in 0..<3 {
            let key = UUID().uuidString
            let task = session.streamRequest(try TestServers.misbehavingHTTP2.url("/held?key=\(key)")).streamTask()
            var iterator = task.bytes.makeAsyncIterator()
            _ = try await iterator.next()
            let fill = try TestServers.misbehavingHTTP2.url("/fill?key=\(key)")
            let answer = await session.request(fill).serializingData().response
            #expect(answer.response?.statusCode == 200, "\(answer)")
            task.cancel()
            _ = try? await task.response
        }
        await session.shutdown()
    }

    @Test(
        .enabled(
            if: Libcurl.version < 0x08_01_00,
            "a newer libcurl comes back between frames of this kind, and the request's own limits end it"))
    func `a request that may be repeated is sent again once on another connection`() async throws {
        let session = try TestHarness.trustingSession()
        let url = try TestServers.misbehavingHTTP2.url("/flood-once?kind=priority&key=\(UUID().uuidString)")
        let answer = await session.request(url).serializingString().response
        #expect(answer.error == nil && answer.response?.statusCode == 200, "\(answer)")
        let error = await session.request(try TestServers.misbehavingHTTP2.url("/flood?kind=priority"))
            .serializingString().response.error
        #expect(error?.kind == .connection(.http2))
        #expect(error?.description.contains(FloodGuard.message) == true)
        await session.shutdown()
    }

    /// Compared with the time limit of a request to a silent server: the flood lasts ten times as long.
    @Test func `cancelling ends a request at once during a flood`() async throws {
        let session = try TestHarness.trustingSession()
        let other = try TestHarness.trustingSession {
            $0.timeouts = Timeouts(connect: .seconds(20), total: .seconds(2))
        }
        let clock = ContinuousClock()
        var start = clock.now
        let stall = try TestServers.misbehavingHTTP2.url("/stall")
        #expect(await other.request(stall).serializingData().response.error?.kind == .timedOut(.total))
        let silent = clock.now - start
        let key = UUID().uuidString
        let request = session.request(
            try TestServers.misbehavingHTTP2.url("/flood?kind=data&key=\(key)"), method: .post)
        let task = request.serializingData()
        async let response = task.response
        _ = try await other.request(try TestServers.misbehavingHTTP2.url("/begun?key=\(key)")).serializingData().value
        start = clock.now
        request.cancel()
        let error = await response.error
        #expect(clock.now - start < silent)
        #expect(error?.kind == .cancelled || error?.kind == .connection(.http2), "\(String(describing: error))")
        await other.shutdown()
        await session.shutdown()
    }
}
