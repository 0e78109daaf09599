import Bluebonnet
import FoundationEssentials
import Testing

@Suite struct DownloadResponseTests {
    struct Failure: Error, Hashable {
        var code: Int
    }

    struct Other: Error, Hashable {}

    // MARK: Transforms

    @Test func `a value is mapped and an error stays`() {
        #expect(response(.success(2)).map { $0 * 2 }.value == 4)
        #expect(response(.failure(Failure(code: 1))).map { $0 * 2 }.error == Failure(code: 1))
    }

    @Test func `an error that tryMap's closure throws is the error`() {
        #expect(response(.success(2)).tryMap { $0 * 2 }.value == 4)
        #expect(response(.success(2)).tryMap { _ -> Int in throw Other() }.error is Other)
        #expect(response(.failure(Failure(code: 1))).tryMap { $0 }.error as? Failure == Failure(code: 1))
    }

    @Test func `an error is mapped and a value stays`() {
        #expect(response(.failure(Failure(code: 1))).mapError { _ in Other() }.error == Other())
        #expect(response(.success(2)).mapError { _ in Other() }.value == 2)
    }

    @Test func `an error that tryMapError's closure throws is the error`() {
        let failed = response(.failure(Failure(code: 1)))
        #expect(failed.tryMapError { Failure(code: $0.code + 1) }.error as? Failure == Failure(code: 2))
        #expect(failed.tryMapError { _ -> Failure in throw Other() }.error is Other)
        #expect(response(.success(2)).tryMapError { $0 }.value == 2)
    }

    @Test func `a transform keeps the other properties`() throws {
        let mapped = try full().map { $0.count }
        #expect(mapped.value == 2)
        #expect(mapped.request?.method == .get && mapped.response?.statusCode == 206)
        #expect(mapped.fileURL == URL(filePath: "/tmp/a b.zip") && mapped.resumeData == Data("{}".utf8))
        #expect(mapped.metrics != nil && mapped.serializationDuration == .milliseconds(2))
    }

    // MARK: Descriptions

    @Test func `the description is the result`() {
        #expect(response(.success(2)).description == "success(2)")
    }

    @Test func `the debug description shows the exchange in blocks, without secrets`() throws {
        #expect(
            try full().debugDescription == """
                [Request]: GET https://example.com/a.zip?token=<redacted>
                    [Headers]:
                        Authorization: <redacted>
                    [Body]: None
                [Response]: https://example.com/a.zip?token=<redacted>
                    [Status Code]: 206
                    [Headers]:
                        Content-Type: text/plain
                        Set-Cookie: <redacted>
                    [File]: "/tmp/a b.zip"
                    [Resume Data]: 2 bytes
                [Network Duration]: 0.25 seconds
                [Serialization Duration]: 0.002 seconds
                [Result]: success("ok")
                """)
    }

    @Test func `missing parts are shown as None`() throws {
        #expect(
            response(.success(1)).debugDescription == """
                [Request]: None
                [Response]: None
                [Network Duration]: None
                [Serialization Duration]: 0.0 seconds
                [Result]: success(1)
                """)
        let url = try #require(URL(string: "https://example.com/"))
        let response = DownloadResponse<Int, Failure>(
            request: nil, response: HTTPResponse(url: url, statusCode: 404), fileURL: nil, resumeData: nil,
            metrics: nil,
            serializationDuration: .zero, result: .failure(Failure(code: 1)))
        #expect(response.debugDescription.contains("    [File]: None\n    [Resume Data]: None\n"))
    }

    // MARK: Helpers

    private func response(_ result: Result<Int, Failure>) -> DownloadResponse<Int, Failure> {
        DownloadResponse(
            request: nil, response: nil, fileURL: nil, resumeData: nil, metrics: nil, serializationDuration: .zero,
            result: result)
    }

    private func full() throws -> DownloadResponse<String, Failure> {
        let url = try #require(URL(string: "https://ada:secret@example.com/a.zip?token=secret"))
        var metrics = TransferMetrics()
        metrics.total = .milliseconds(250)
        return DownloadResponse(
            request: HTTPRequest(url: url, headers: ["Authorization": "Bearer secret"]),
            response: HTTPResponse(
                url: url, statusCode: 206, headers: ["Content-Type": "text/plain", "Set-Cookie": "sid=secret"]),
            fileURL: URL(filePath: "/tmp/a b.zip"), resumeData: Data("{}".utf8), metrics: metrics,
            serializationDuration: .milliseconds(2), result: .success("ok"))
    }
}
