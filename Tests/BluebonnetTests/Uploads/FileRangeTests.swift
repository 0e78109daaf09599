import BluebonnetTesting
import Foundation
import TestSupport
import Testing

@testable import Bluebonnet

/// Parts of a file as bodies.
@Suite(.timeLimit(.minutes(10))) final class FileRangeTests {
    private let directory: TestDirectory
    private let file: URL
    private let contents = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })

    init() throws {
        directory = try TestDirectory()
        file = directory.url.appendingPathComponent("file")
        try contents.write(to: file)
    }

    @Test(arguments: [0..<0, 0..<1, 0..<3_000_000, 999_999..<2_500_001, 2_999_999..<3_000_000, 3_000_000..<3_000_000])
    func `the server receives the bytes of the range`(_ range: Range<Int64>) async throws {
        let server = try await LocalServer(recordedBodyBytes: 4_000_000) { $0.fallback(.ok) }
        let session = TestHarness.session { $0.continueTimeout = nil }
        let body = RequestBody.file(file, range: range)
        #expect(body.isReplayable && body.length == Int64(range.count))
        for _ in 1...2 {
            let response = try await session.put(server.url("/"), body: body)
            #expect(response.statusCode == 200, "\(response)")
        }
        for number in 1...2 {
            let request = try await server.request(number)
            #expect(request.headers["Content-Length"] == "\(range.count)")
            #expect(request.body.count == range.count)
            // The library for tests takes hours to show the difference of large collections.
            let isEqual = request.body == contents[Int(range.lowerBound)..<Int(range.upperBound)]
            #expect(isEqual)
        }
        try await TestHarness.end(session, server)
    }

    /// What httpbin says of a body.
    private struct Echo: Decodable {
        var data: String
    }

    /// A server of others receives three parts at once, which together are the file.
    @Test func `parts of a file are sent at the same time`() async throws {
        let session = TestHarness.session()
        let url = try TestServers.httpbin.url("/put")
        let parts: [Range<Int64>] = [0..<40_000, 40_000..<80_000, 80_000..<100_000]
        let file = file
        let received = try await withThrowingTaskGroup(of: (Int64, String).self) { group in
            for part in parts {
                group.addTask {
                    let response = try await session.put(
                        url, body: .file(file, range: part), headers: ["Content-Type": "application/octet-stream"])
                    return (part.lowerBound, try response.validate().json(Echo.self).data)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let texts = received.sorted { $0.0 < $1.0 }.map(\.1)
        let data = texts.reduce(into: Data()) { data, text in
            // A body that is not UTF-8 is a data URL.
            data.append(Data(base64Encoded: text.split(separator: ",").last.map(String.init) ?? "") ?? Data())
        }
        let isEqual = data == contents[..<100_000]
        #expect(isEqual, "\(data.count)")
        await session.shutdown()
    }

    @Test(arguments: [0..<3_000_001, -1..<4, 3_000_001..<3_000_002])
    func `a range that the file does not have is an error`(_ range: Range<Int64>) async throws {
        let server = try await LocalServer { $0.fallback(.ok) }
        let session = TestHarness.session()
        let file = file
        let error = await #expect(throws: RequestError.self) {
            try await session.put(server.url("/"), body: .file(file, range: range))
        }
        #expect(
            error?.kind == .requestBody(.lengthMismatch(expected: range.upperBound, actual: 3_000_000)),
            "\(String(describing: error))")
        #expect(error?.detail?.contains("ends before the range") == true)
        try await TestHarness.end(session, server)
    }

    @Test func `the file may grow while a part is sent`() async throws {
        let server = try await LocalServer { router in
            router.fallback { [file] _ in
                let handle = try FileHandle(forWritingTo: file)
                try handle.seekToEnd()
                try handle.write(contentsOf: Data("more".utf8))
                return .ok
            }
        }
        let session = TestHarness.session()
        for _ in 1...3 {
            let response = try await session.put(server.url("/"), body: .file(file, range: 0..<2_000_000))
            #expect(response.statusCode == 200, "\(response)")
        }
        try await TestHarness.end(session, server)
    }
}
