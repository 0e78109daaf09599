import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Numbered requests through nginx, which ends a connection after `keepalive_requests`, to a server that counts them.
///
/// A program of its own sends the requests, because its standard streams are watched.
@Suite(.timeLimit(.minutes(10)), .serialized) struct NumberedRequestTests {
    /// What standard input of the program is.
    enum Input: String, CaseIterable, Sendable {
        case pipe = "exec < <(exec sleep 60 > /dev/null 2>&1)"
        case file = "head -c 3000 /dev/zero > $INPUT; exec < $INPUT"
        case null = "exec < /dev/null"
        case closed = "exec 0<&-"
    }

    private struct Counts: Decodable {
        let counts: [Int: Int]
        let wrong: [Int]
    }

    /// The requests that failed, those that were counted, and the other lines of the program.
    private struct Result {
        var failed: [Int: String] = [:]
        var counts: [Int: Int] = [:]
        var wrong: [Int] = []
        var lines: [String] = []
        /// The milliseconds of the slowest request.
        var slowest = 0
        var code: Int32 = 0
        var errors = ""
    }

    /// Runs the program, and meanwhile a closure that receives the port of the server behind nginx.
    private func send(
        _ count: Int, _ options: [String], server serverOptions: [String], input: Input = .null,
        meanwhile: @Sendable (String) async throws -> Void = { _ in }
    ) async throws -> Result {
        let directory = try TestDirectory()
        let certificates = try TestCertificates()
        let server = try Python.start(
            "servers/order_server.py",
            [directory.path, certificates.server, certificates.serverKey] + serverOptions)
        defer { server.send(15) }
        var ports: [String] = []
        for await line in server.lines {
            ports.append(line)
            if ports.count == 2 { break }
        }
        try #require(ports.count == 2)
        let errors = directory.url.appending(path: "errors")
        let program = try RunningProgram(
            "SendProgram",
            ["url=https://127.0.0.1:\(ports[0])", "ca=\(certificates.authority)", "count=\(count)"] + options,
            environment: ["MALLOC_PERTURB_": "165"],
            conditions: "INPUT=\(directory.path)/input; \(input.rawValue); exec 2> \(errors.path())")
        async let end = program.outcome()
        try await meanwhile(ports[1])
        let outcome = await end
        var result = Result(code: outcome.code, errors: (try? String(contentsOf: errors, encoding: .utf8)) ?? "")
        for line in String(decoding: outcome.output, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 2)
            if words[0] == "failed", words.count == 3, let number = Int(words[1]) {
                result.failed[number] = String(words[2])
            } else if words[0] == "slowest", let time = words.last.flatMap({ Int($0) }) {
                result.slowest = time
            } else {
                result.lines.append(String(line))
            }
        }
        let session = TestHarness.session()
        let counts = try await session.request("http://127.0.0.1:\(ports[1])/counts")
            .serializingDecodable(Counts.self).value
        await session.shutdown()
        (result.counts, result.wrong) = (counts.counts, counts.wrong)
        return result
    }

    /// Expects that each request that succeeded was processed once, and that those that failed were not processed.
    private func expect(_ result: Result, _ count: Int, failures isAllowed: Bool) {
        #expect(result.code == 0)
        #expect(result.errors.isEmpty, "\(result.errors.prefix(300))")
        #expect(result.wrong.isEmpty)
        #expect(result.failed.count < count / 2, "\(result.failed.count) of \(count) failed")
        #expect(result.lines.last == "done \(count - result.failed.count)", "\(result.lines.prefix(5))")
        for number in 1...count where result.failed[number] == nil {
            #expect(result.counts[number] == 1, "\(number)")
        }
        for (number, text) in result.failed {
            #expect(isAllowed && result.counts[number] == nil, "\(number): \(text)")
        }
    }

    /// With libcurl 8.14.1, the process died, and standard input was rewound.
    @Test(arguments: Input.allCases, [false, true])
    func `ordinary weather with any standard input`(_ input: Input, isRead: Bool) async throws {
        guard !isRead || input == .pipe else { return }
        let result = try await send(
            960, ["workers=64", "cycle=POST*22,GET*8", "bytes=20000"] + (isRead ? ["reads=yes"] : []),
            server: ["requests=20", "delay=5"], input: input)
        expect(result, 960, failures: false)
        if input == .file { #expect(result.lines.first == "position 1000") }
    }

    typealias Row = (count: Int, options: [String], server: [String])

    private static let rows: [Row] = [
        (3000, ["workers=50"], []), (1000, ["workers=20"], ["requests=50"]),
        (1000, ["workers=64", "loops=4"], ["requests=20"]),
        (300, ["workers=20", "events=yes"], ["requests=50"]),
        (400, ["workers=20", "body=file", "bytes=20000", "cycle=POST,PUT"], ["requests=20"]),
        (300, ["workers=200", "cycle=GET"], ["requests=20"]),
        (300, ["workers=30", "cycle=POST", "body=none"], ["requests=20"]),
    ]

    @Test(arguments: rows)
    func `nginx ends connections after a number of requests`(_ row: Row) async throws {
        let result = try await send(row.count, row.options, server: row.server)
        expect(result, row.count, failures: false)
    }

    /// An nginx that supports HTTP/3 comes with the libcurl of another Debian release.
    private static let nginx = ProcessInfo.processInfo.environment["BLUEBONNET_NGINX_HTTP3"].map { "program=\($0)" }

    /// With OpenSSL's QUIC, connections stall on a busy machine.
    private static let hasSoundHTTP3 = nginx != nil && Libcurl.hasHTTP3 && !QUICConnections.areHidden

    private static let http3Rows: [Row] = [
        (3000, ["workers=50"], []), (200, ["workers=1"], ["requests=20"]),
        (200, ["workers=20", "cycle=GET"], ["requests=20"]),
    ]

    @Test(.enabled(if: hasSoundHTTP3), arguments: http3Rows)
    func `nginx ends HTTP/3 connections after a number of requests`(_ row: Row) async throws {
        let server = ["http3=yes", try #require(Self.nginx)] + row.server
        expect(try await send(row.count, row.options + ["version=http3"], server: server), row.count, failures: false)
    }

    /// Libcurl does not pass on that nginx has refused the requests, but no request waits for the idle limit.
    @Test(.enabled(if: hasSoundHTTP3))
    func `an HTTP/3 connection ends for all of its requests at once`() async throws {
        let server = ["http3=yes", try #require(Self.nginx), "requests=20"]
        let result = try await send(2000, ["workers=64", "version=http3"], server: server)
        let control = try await send(2000, ["workers=64", "version=http2"], server: server)
        for number in 1...2000 {
            let isOnce = result.counts[number] == 1
            #expect(isOnce || result.failed[number] != nil && result.counts[number] == nil, "\(number)")
        }
        #expect(!result.failed.isEmpty && result.lines.last == "done \(2000 - result.failed.count)")
        #expect(result.slowest < 20 * control.slowest, "\(result.slowest) ms, and \(control.slowest) ms over HTTP/2")
    }

    private static func get<Value: Decodable & Sendable>(_ path: String, _ port: String) async throws -> Value {
        let session = TestHarness.session()
        let value = try await session.request("http://127.0.0.1:\(port)\(path)").validate()
            .serializingDecodable(Value.self, emptyResponseCodes: [200]).value
        await session.shutdown()
        return value
    }

    /// Without ``CompleteResponses``, some requests fail although their responses have arrived.
    ///
    /// Libcurl would send some of them again, because it counts the connection as an old one.
    @Test(arguments: ["data", "none"], hasSoundHTTP3 ? ["http2", "http3"] : ["http2"])
    func `no POST is processed twice if nginx dies`(body: String, version: String) async throws {
        let server = version == "http3" ? ["http3=yes", try #require(Self.nginx)] : []
        let result = try await send(
            400, ["workers=20", "body=\(body)", "version=\(version)"], server: server + ["delay=30"],
            meanwhile: { port in
                for limit in [40, 120, 250] {
                    var counts: Counts
                    repeat { counts = try await Self.get("/counts", port) } while counts.counts.count < limit
                    let _: Empty = try await Self.get("/stop-worker", port)
                }
            })
        #expect(result.code == 0)
        #expect(result.counts.values.allSatisfy { $0 == 1 }, "\(result.counts.filter { $0.value > 1 })")
        for number in 1...400 where result.failed[number] == nil { #expect(result.counts[number] == 1, "\(number)") }
        #expect(!result.failed.isEmpty)
    }

    @Test func `a body that its origin cuts is not complete`() async throws {
        let result = try await send(60, ["workers=6", "cycle=GET", "path=cut"], server: [])
        #expect(result.failed.count == 60)
        // Earlier versions cannot know; see "Security and limits".
        guard Libcurl.version >= 0x08_01_00 else { return }
        for text in result.failed.values { #expect(!text.contains("complete)"), "\(text)") }
    }

    /// A body that can be read once is refused with its own error, and nothing else fails.
    @Test func `bodies that can be read once are sent once`() async throws {
        let result = try await send(300, ["workers=20", "body=stream"], server: ["requests=20"])
        expect(result, 300, failures: true)
        let text = RequestError.Kind.requestBody(.notReplayable).description
        for failure in result.failed.values { #expect(failure.hasPrefix(text), "\(failure)") }
    }
}
