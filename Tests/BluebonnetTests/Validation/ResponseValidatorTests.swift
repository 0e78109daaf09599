import FoundationEssentials
import Testing

@testable import Bluebonnet

/// An `Accept` field and a `Content-Type`, and whether the field accepts the type.
struct AcceptedType: Sendable {
    let acceptable: [String]
    let contentType: String?
    let isAccepted: Bool

    init(_ acceptable: [String], _ contentType: String?, _ isAccepted: Bool) {
        self.acceptable = acceptable
        self.contentType = contentType
        self.isAccepted = isAccepted
    }
}

@Suite struct ResponseValidatorTests {
    struct Failure: Error, Hashable {}

    let url: URL
    let body = Data("body".utf8)

    init() throws {
        url = try #require(URL(string: "https://example.com/"))
    }

    // MARK: Status codes

    @Test(arguments: [(199, false), (200, true), (204, true), (299, true), (300, false), (404, false), (500, false)])
    func `by default 200 to 299 are acceptable`(_ code: Int, isAccepted: Bool) {
        #expect((error(of: [.success], code) == nil) == isAccepted)
    }

    @Test func `any sequence of status codes is accepted`() {
        #expect(error(of: [.statusCodes(StatusCodes(200..<201))], 200) == nil)
        #expect(error(of: [.statusCodes(StatusCodes(200...201))], 201) == nil)
        #expect(error(of: [.statusCodes(StatusCodes([404, 410]))], 410) == nil)
        #expect(error(of: [.statusCodes(StatusCodes(Set([404])))], 200) == .validation(.unacceptableStatusCode(200)))
        #expect(error(of: [.statusCodes(StatusCodes(stride(from: 200, to: 600, by: 100)))], 300) == nil)
        #expect(
            error(of: [.statusCodes(StatusCodes(CollectionOfOne(200)))], 201)
                == .validation(.unacceptableStatusCode(201)))
        #expect(error(of: [.statusCodes(StatusCodes([Int]()))], 200) == .validation(.unacceptableStatusCode(200)))
    }

    @Test func `endless and extreme sequences end and do not trap`() {
        #expect(error(of: [.statusCodes(StatusCodes(400...))], 404) == nil)
        #expect(error(of: [.statusCodes(StatusCodes(400...))], 200) == .validation(.unacceptableStatusCode(200)))
        #expect(error(of: [.statusCodes(StatusCodes(Int.max...))], 200) != nil)
        #expect(error(of: [.statusCodes(StatusCodes(Int.min...Int.max))], 200) == nil)
        #expect(error(of: [.statusCodes(StatusCodes(Int.max...Int.max))], 200) != nil)
        let endless = sequence(first: 200) { $0 == 299 ? 200 : $0 + 1 }
        #expect(error(of: [.statusCodes(StatusCodes(endless))], 250) == nil)
        #expect(error(of: [.statusCodes(StatusCodes(endless))], 404) == .validation(.unacceptableStatusCode(404)))
    }

    @Test func `an iterator that can be read once is read once for all responses`() {
        let validator = ResponseValidator.statusCodes(StatusCodes(AnySequence([200, 404].makeIterator())))
        for _ in 0..<3 {
            #expect(error(of: [validator], 404) == nil)
        }
    }

    // MARK: Content types

    @Test(arguments: [
        AcceptedType(["application/json"], "application/json", true),
        AcceptedType(["application/json"], "Application/JSON", true),
        AcceptedType(["APPLICATION/Json"], "application/json", true),
        AcceptedType(["application/json"], "application/json; charset=utf-8", true),
        AcceptedType(["application/json; q=0.5"], "application/json", true),
        AcceptedType([" application/json ;q=1"], "application/json", true),
        AcceptedType(["application/json"], "text/json", false),
        AcceptedType(["application/json"], "application/xml", false),
        AcceptedType(["application/*"], "application/xml", true), AcceptedType(["application/*"], "text/xml", false),
        AcceptedType(["*/json"], "text/json", true), AcceptedType(["*/json"], "text/xml", false),
        AcceptedType(["*/*"], "text/xml", true), AcceptedType(["*"], "text/xml", true),
        AcceptedType(["*; q=.2"], "text/xml", true), AcceptedType(["text/xml", "text/plain"], "text/plain", true),
        AcceptedType([], "text/plain", false), AcceptedType(["nonsense"], "text/plain", false),
        AcceptedType(["application/json"], "application/json+x", false),
        AcceptedType(["application/vnd.api+json"], "application/vnd.api+json", true),
        AcceptedType(["*/*"], nil, true), AcceptedType(["*/*; q=0.1"], nil, true), AcceptedType(["text/*"], nil, false),
        AcceptedType(["*/*"], "garbage", true), AcceptedType(["text/plain"], "garbage", false),
        AcceptedType(["text/plain"], "", false), AcceptedType(["*/json"], nil, false),
    ])
    func `content types match without regard to case and parameters`(_ example: AcceptedType) {
        let kind = error(of: [.contentTypes(example.acceptable)], 200, contentType: example.contentType)
        #expect((kind == nil) == example.isAccepted)
    }

    @Test func `the error contains the received and the acceptable values, sorted`() {
        #expect(
            error(of: [.contentTypes(["text/xml", "text/plain"])], 200, contentType: "Image/PNG; a=b")
                == .validation(.unacceptableContentType("image/png", acceptable: ["text/plain", "text/xml"])))
        #expect(
            error(of: [.contentTypes(["text/xml", "text/plain"])], 200)
                == .validation(.missingContentType(acceptable: ["text/plain", "text/xml"])))
    }

    @Test func `the content type of an empty body does not matter`() {
        #expect(error(of: [.contentTypes(["text/xml"])], 200, contentType: "image/png", data: Data()) == nil)
    }

    @Test func `the content type of a body that is not in memory is checked`() {
        #expect(error(of: [.contentTypes(["text/xml"])], 200, contentType: "image/png", data: nil) != nil)
    }

    @Test(arguments: [
        AcceptedType([], "image/png", true), AcceptedType([""], "image/png", true),
        AcceptedType(["text/html, application/json;q=0.9"], "application/json", true),
        AcceptedType(["text/html, application/json;q=0.9"], "image/png", false),
        AcceptedType(["text/html", "application/json"], "application/json", true),
        AcceptedType(["text/html, */*;q=0.1"], "image/png", true),
        AcceptedType(["text/html, image/gif, *; q=.2, */*; q=.2"], "image/png", true),
        AcceptedType([#"text/html;a=",image/png", text/plain"#], "image/png", false),
        AcceptedType([#"text/html;a="\",image/png", text/plain"#], "text/plain", true),
        AcceptedType([",, text/html ,"], "text/html", true),
    ])
    func `by default, the request's Accept field is used`(_ example: AcceptedType) {
        let headers = HTTPHeaders(example.acceptable.map { HTTPHeader(name: "accept", value: $0) })
        let kind = error(of: [.accepted], 200, contentType: example.contentType, headers: headers)
        #expect((kind == nil) == example.isAccepted)
    }

    @Test func `without a request, every content type is acceptable`() throws {
        let response = HTTPResponse(url: url, statusCode: 200, headers: ["Content-Type": "image/png"])
        let list: [ResponseValidator] = [.success, .accepted]
        try list.run(request: nil, response: response, data: body)
    }

    @Test func `validate() checks the status code before the content type`() throws {
        let list: [ResponseValidator] = [.success, .accepted]
        let request = HTTPRequest(url: url, headers: ["Accept": "text/xml"])
        func kind(_ code: Int) throws -> RequestError.Kind {
            let response = HTTPResponse(url: url, statusCode: code, headers: ["Content-Type": "image/png"])
            return try #require(throws: RequestError.self) {
                try list.run(request: request, response: response, data: body)
            }.kind
        }
        #expect(try kind(500) == .validation(.unacceptableStatusCode(500)))
        #expect(try kind(200) == .validation(.unacceptableContentType("image/png", acceptable: ["text/xml"])))
    }

    // MARK: The list

    @Test func `an empty list accepts everything`() {
        #expect(error(of: [], 500) == nil)
    }

    @Test func `the first validator that refuses ends the validation`() {
        let later = ResponseValidator.custom { _, _, _ in
            Issue.record("asked after a refusal")
            return .success(())
        }
        #expect(error(of: [.success, later], 404) == .validation(.unacceptableStatusCode(404)))
    }

    @Test func `a validator sees the request, the response and the body`() {
        let seeing = ResponseValidator.custom { request, response, data in
            #expect(request?.headers["A"] == "b")
            #expect(response.statusCode == 200)
            #expect(data == Data("body".utf8))
            return .success(())
        }
        #expect(error(of: [seeing], 200, headers: ["A": "b"]) == nil)
    }

    @Test func `a custom error is wrapped once, whether it is returned or thrown`() throws {
        for validator in [
            ResponseValidator.custom { _, _, _ in .failure(Failure()) }, .custom { _, _, _ in throw Failure() },
        ] {
            let error = try #require(self.requestError(of: [validator], 200))
            #expect(error.kind == .validation(.customValidationFailed))
            #expect(error.underlying is Failure)
        }
    }

    @Test func `a RequestError is wrapped like any other error`() throws {
        for validator in [
            ResponseValidator.custom { _, _, _ in .failure(RequestError(.connection(.lost))) },
            .custom { _, _, _ in throw RequestError(.connection(.lost)) },
        ] {
            let error = try #require(self.requestError(of: [validator], 200))
            #expect(error.kind == .validation(.customValidationFailed))
            #expect(error.response?.statusCode == 200)
            #expect((error.underlying as? RequestError)?.kind == .connection(.lost))
        }
    }

    @Test func `the error contains the response and the first 64 KiB of the body`() throws {
        let large = Data(repeating: 7, count: 100_000)
        let error = try #require(requestError(of: [.success], 418, data: large))
        #expect(error.response?.statusCode == 418)
        #expect(error.body == large.prefix(64 * 1024))
        #expect(error.statusCode == 418)
    }

    @Test func `the error's body decodes as the API's own error`() throws {
        let error = try #require(requestError(of: [.success], 400, data: Data(#"{"reason":"late"}"#.utf8)))
        #expect(try error.decodeBody(as: [String: String].self) == ["reason": "late"])
    }

    // MARK: Helpers

    private func requestError(
        of validators: [ResponseValidator], _ code: Int, contentType: String? = nil, headers: HTTPHeaders = [:],
        data: Data? = Data("body".utf8)
    ) -> RequestError? {
        let response = HTTPResponse(
            url: url, statusCode: code, headers: contentType.map { ["Content-Type": $0] } ?? [:])
        do throws(RequestError) {
            try validators.run(request: HTTPRequest(url: url, headers: headers), response: response, data: data)
            return nil
        } catch {
            return error
        }
    }

    private func error(
        of validators: [ResponseValidator], _ code: Int, contentType: String? = nil, headers: HTTPHeaders = [:],
        data: Data? = Data("body".utf8)
    ) -> RequestError.Kind? {
        requestError(of: validators, code, contentType: contentType, headers: headers, data: data)?.kind
    }
}
