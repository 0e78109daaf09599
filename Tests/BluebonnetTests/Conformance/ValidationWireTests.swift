import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

/// Validation of responses that servers sent.
@Suite(.timeLimit(.minutes(10)))
struct `Conformance of validation` {
    private static func error(_ request: DataRequest) async -> RequestError? {
        await request.serializingData(emptyResponseCodes: Set(100..<600)).response.error
    }

    @Test(arguments: TestServers.httpbins, [200, 201, 204, 226, 299])
    func `a status of success is valid`(server: TestServers, code: Int) async throws {
        let request = Session.conformance.request(try server.url("/status/\(code)")).validate()
        #expect(await Self.error(request) == nil)
    }

    @Test(arguments: TestServers.httpbins, [302, 304, 400, 401, 404, 418, 500, 503])
    func `any other status is an error that contains the response`(server: TestServers, code: Int) async throws {
        let request = Session.conformance.request(try server.url("/status/\(code)?key=secret")).validate()
            .redirect(using: .doNotFollow)
        let error = try #require(await Self.error(request))
        #expect(error.kind == .validation(.unacceptableStatusCode(code)))
        #expect(error.statusCode == code)
        #expect(error.response?.statusCode == code)
        #expect(error.method == .get && error.attempts == 1)
        #expect(!error.description.contains("secret"))
        if code == 418 { #expect(error.body.map { String(decoding: $0, as: UTF8.self) }?.contains("teapot") == true) }
        #expect(request.response?.statusCode == code)
        #expect(request.isFinished)
    }

    @Test(arguments: TestServers.httpbins)
    func `custom status codes replace the default status codes`(server: TestServers) async throws {
        let url = try server.url("/status/404")
        #expect(await Self.error(Session.conformance.request(url).validate(statusCode: 400..<500)) == nil)
        #expect(await Self.error(Session.conformance.request(url).validate(statusCode: [404])) == nil)
        #expect(
            await Self.error(Session.conformance.request(url).validate(statusCode: [200, 201]))?.kind
                == .validation(.unacceptableStatusCode(404)))
        #expect(await Self.error(Session.conformance.request(url)) == nil)
    }

    @Test(
        arguments: TestServers.httpbins,
        [
            ("/json", "application/json", true), ("/json", "text/html;q=0.9, application/json", true),
            ("/json", "application/*", true), ("/json", "*/*", true), ("/json", "text/*, image/png", false),
            ("/html", "text/html; charset=ascii", true), ("/html", "application/json", false),
            ("/xml", "application/xml", true), ("/image/svg", "image/*", true), ("/bytes/0", "text/plain", true),
        ])
    func `the content types of Accept are valid`(
        server: TestServers, exchange: (path: String, accept: String, isValid: Bool)
    ) async throws {
        let request = Session.conformance.request(try server.url(exchange.path), headers: [.accept(exchange.accept)])
        let error = await Self.error(request.validate())
        #expect((error == nil) == exchange.isValid)
        guard let error else { return }
        guard case .validation(.unacceptableContentType) = error.kind else {
            Issue.record("\(error)")
            return
        }
    }

    @Test(arguments: TestServers.httpbins)
    func `custom content types and a custom validator are used`(server: TestServers) async throws {
        struct TooSmall: Error, Equatable {}
        let url = try server.url("/image/png")
        let request = Session.conformance.request(url).validate(contentType: ["image/jpeg", "image/*"])
        #expect(await Self.error(request.validate { _, _, data in .success(()) }) == nil)
        let refused = Session.conformance.request(url).validate(contentType: ["text/plain"])
        #expect(
            await Self.error(refused)?.kind
                == .validation(.unacceptableContentType("image/png", acceptable: ["text/plain"])))
        let custom = Session.conformance.request(url).validate { request, response, data in
            request?.url == url && response.statusCode == 200 && data?.count ?? 0 > 1_000_000
                ? .success(()) : .failure(TooSmall())
        }
        let error = try #require(await Self.error(custom))
        #expect(error.kind == .validation(.customValidationFailed))
        #expect(error.underlying as? TooSmall == TooSmall())
    }

    @Test(arguments: TestServers.httpbins)
    func `an API's own error is decoded from the refused body`(server: TestServers) async throws {
        struct Refusal: Decodable, Equatable {
            let message: String
            let accept: [String]
        }
        let request = Session.conformance.request(try server.url("/image"), headers: [.accept("image/unheard-of")])
        let error = try #require(await Self.error(request.validate()))
        #expect(error.statusCode == 406)
        let refusal = try error.decodeBody(as: Refusal.self)
        #expect(refusal.accept.contains("image/webp"))
    }

    @Test(arguments: TestServers.httpbins)
    func `an error keeps the first 64 KiB of a long body`(server: TestServers) async throws {
        let request = Session.conformance.request(try server.url("/bytes/100000")).validate(statusCode: [201])
        let response = await request.serializingData().response
        #expect(response.error?.body?.count == 65_536)
        #expect(response.data?.count == 100_000)
        let isPrefix = response.error?.body == response.data?.prefix(65_536)
        #expect(isPrefix)
    }
}
