import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Request bodies from memory, files, sequences and forms, against httpbin, nginx and nghttpd.
@Suite(.timeLimit(.minutes(10))) struct UploadWireTests {
    /// Yields pieces of a pattern.
    private static func pieces(_ count: Int, of size: Int) -> AsyncStream<Data> {
        AsyncStream { continuation in
            for number in 0..<count {
                continuation.yield(Data(repeating: UInt8(truncatingIfNeeded: number), count: size))
            }
            continuation.finish()
        }
    }

    @Test(arguments: [TestServers.httpbin, .httpbinHTTP2], [nil, Int64(20_000)])
    func `a sequence is sent, with and without its length`(server: TestServers, length: Int64?) async throws {
        let session = try TestHarness.trustingSession()
        let request = session.upload(
            Self.pieces(20, of: 1000), length: length, to: try server.url("/post"),
            headers: ["Content-Type": "application/octet-stream"])
        let json = try await request.validate().serializingJSON().value
        let expected = Data((0..<20).flatMap { [UInt8](repeating: UInt8($0), count: 1000) })
        let text = try #require(json["data"]?.string)
        let encoded = try #require(text.split(separator: ",").last)
        #expect(Data(base64Encoded: String(encoded)) == expected || Data(text.utf8) == expected)
        #expect(request.uploadProgress.completed == 20_000)
        #expect(request.uploadProgress.total == length)
        await session.shutdown()
    }

    @Test(arguments: [TestServers.nginx, .nginxTLS])
    func `a file is sent and read back`(server: TestServers) async throws {
        let session = try TestHarness.trustingSession()
        let file = FileManager.default.temporaryDirectory.appending(path: "upload-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: file) }
        let bytes = Data((0..<3_000_001).map { UInt8(truncatingIfNeeded: $0 % 253) })
        try bytes.write(to: file)
        let url = try server.url("/stored/\(file.lastPathComponent)")
        let put = session.upload(file, to: url, method: .put)
        let status = await put.serializingData(emptyResponseCodes: [201, 204]).response.response?.statusCode
        #expect(status == 201)
        #expect(
            put.uploadProgress == TransferProgress(completed: 3_000_001, total: 3_000_001)
                || put.uploadProgress.completed == 3_000_001)
        #expect(try await session.request(url).serializingData().value == bytes)
        await session.shutdown()
    }

    @Test(arguments: ["/post", "/anything"])
    func `a form is sent as its parts`(_ path: String) async throws {
        let session = TestHarness.session()
        let json = try await session.upload(
            multipartFormData: { form in
                form.append(Data("value".utf8), withName: "field")
                form.append(Data("content".utf8), withName: "file", fileName: "a.txt", mimeType: "text/plain")
            }, to: try TestServers.httpbin.url(path)
        ).validate().serializingJSON().value
        #expect(json["form"]?["field"]?.string == "value")
        #expect(json["files"]?["file"]?.string == "content")
        await session.shutdown()
    }

    @Test func `a download is saved to its destination`() async throws {
        let session = TestHarness.session()
        let directory = FileManager.default.temporaryDirectory.appending(
            path: "download-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appending(path: "file")
        let response = await session.download(
            try TestServers.nginx.url("/bytes/16777216"), to: .file(file, options: .createIntermediateDirectories)
        ).validate().serializingURL().response
        #expect(try response.result.get() == file)
        #expect(response.fileURL == file)
        let bytes = try Data(contentsOf: file)
        #expect(bytes.count == 16_777_216)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["file"])
        let data = try await session.download(try TestServers.nginx.url("/bytes/1024")).serializingData().value
        #expect(data == Data((0..<1024).map { UInt8($0 % 251) }))
        await session.shutdown()
    }
}
