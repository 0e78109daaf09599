import Bluebonnet
import FoundationEssentials
import Testing

@Suite struct DataResponseTests {
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
        #expect(mapped.request?.method == .post && mapped.response?.statusCode == 201)
        #expect(mapped.data != nil && mapped.metrics != nil && mapped.serializationDuration == .milliseconds(2))
    }

    // MARK: Descriptions

    @Test func `the description is the result`() {
        #expect(response(.success(2)).description == "success(2)")
        #expect(
            "\(response(.failure(Failure(code: 1))))" == "failure(BluebonnetTests.DataResponseTests.Failure(code: 1))")
    }

    @Test func `the debug description shows the exchange in blocks, without secrets`() throws {
        #expect(
            try full().debugDescription == """
                [Request]: POST https://example.com/login?token=<redacted>
                    [Headers]:
                        Content-Type: application/x-www-form-urlencoded
                        Authorization: <redacted>
                    [Body]:
                        user=ada&password=<redacted>
                [Response]: https://example.com/login?token=<redacted>
                    [Status Code]: 201
                    [Headers]:
                        Content-Type: application/json
                        Set-Cookie: <redacted>
                    [Body]:
                        {
                          "id": 7, "access_token" : "<redacted>"
                        }
                [Network Duration]: 0.25 seconds
                [Serialization Duration]: 0.002 seconds
                [Result]: success("ok")
                """)
    }

    @Test func `missing parts are shown as None`() {
        #expect(
            response(.success(1)).debugDescription == """
                [Request]: None
                [Response]: None
                [Network Duration]: None
                [Serialization Duration]: 0.0 seconds
                [Result]: success(1)
                """)
    }

    @Test(
        arguments: [
            ("text/plain", "abc", "        abc"), ("text/html; charset=utf-8", "é", "        é"),
            ("application/xml", "<a/>", "        <a/>"), ("application/problem+json", "{}", "        {}"),
            ("application/octet-stream", "abc", "    [Body]: 3 bytes"), ("image/png", "abc", "    [Body]: 3 bytes"),
            (nil, "abc", "    [Body]: 3 bytes"), ("text/plain", "", "    [Body]: None"),
            ("text/plain; charset=utf-16", "abc", "    [Body]: 3 bytes"),
        ] as [(String?, String, String)])
    func `a body is shown if it is text`(_ contentType: String?, body: String, line: String) throws {
        #expect(try shows(contentType, body, as: line))
    }

    @Test func `a body of up to 100,000 bytes is shown`() throws {
        let body = String(repeating: "a", count: 100_000)
        #expect(try shows("text/plain", body, as: "        " + body))
        #expect(try shows("text/plain", body + "a", as: "    [Body]: 100001 bytes"))
    }

    // MARK: Helpers

    private func shows(_ contentType: String?, _ body: String, as line: String) throws -> Bool {
        let url = try #require(URL(string: "https://example.com/"))
        let response = DataResponse<Int, Failure>(
            request: nil,
            response: HTTPResponse(url: url, statusCode: 200, headers: contentType.map { ["Content-Type": $0] } ?? [:]),
            data: Data(body.utf8), metrics: nil, serializationDuration: .zero, result: .success(1))
        return response.debugDescription.split(separator: "\n").contains { $0 == line }
    }

    private func response(_ result: Result<Int, Failure>) -> DataResponse<Int, Failure> {
        DataResponse(
            request: nil, response: nil, data: nil, metrics: nil, serializationDuration: .zero, result: result)
    }

    private func full() throws -> DataResponse<String, Failure> {
        let url = try #require(URL(string: "https://ada:secret@example.com/login?token=secret"))
        var metrics = TransferMetrics()
        metrics.total = .milliseconds(250)
        return DataResponse(
            request: HTTPRequest(
                url: url, method: .post,
                headers: [
                    "Content-Type": "application/x-www-form-urlencoded", "Authorization": "Bearer secret",
                ],
                body: .data(Data("user=ada&password=secret".utf8))),
            response: HTTPResponse(
                url: url, statusCode: 201, headers: ["Content-Type": "application/json", "Set-Cookie": "sid=secret"]),
            data: Data("{\n  \"id\": 7, \"access_token\" : \"secret\"\n}".utf8), metrics: metrics,
            serializationDuration: .milliseconds(2), result: .success("ok"))
    }
}
