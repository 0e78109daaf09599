import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct `Conformance of status codes` {
    @Test(arguments: TestServers.httpbins)
    func `every final status code is a response`(server: TestServers) async throws {
        try await withThrowingTaskGroup { group in
            for code in 200..<600 {
                group.addTask {
                    // httpbin's redirects lead somewhere.
                    let request = Session.conformance.request(try server.url("/status/\(code)"))
                        .redirect(using: .doNotFollow)
                    #expect(try await server.answer(request).status == code)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test(
        arguments: TestServers.httpbins,
        [HTTPMethod.get, .post, .put, .patch, .delete, .trace].flatMap { method in
            [200, 204, 304, 404, 500].map { (method, $0) }
        })
    func `a status code is received with every method`(
        server: TestServers, exchange: (method: HTTPMethod, code: Int)
    ) async throws {
        let answer = try await server.answer("/status/\(exchange.code)", method: exchange.method)
        #expect(answer.status == exchange.code)
        #expect(answer.body.isEmpty)
    }

    @Test(arguments: TestServers.httpbins, [204, 205, 304])
    func `a status without content leaves the connection usable`(server: TestServers, code: Int) async throws {
        let session = Session(configuration: .conformance)
        for _ in 1...3 {
            #expect(try await server.answer("/status/\(code)", in: session).body.isEmpty)
        }
        let last = try await server.answer("/bytes/7", in: session)
        #expect(last.body.count == 7)
        #expect(last.metrics.isReusedConnection)
        await session.shutdown()
    }

    @Test(arguments: TestServers.httpbins)
    func `a refusal without credentials is a response like any other`(server: TestServers) async throws {
        let basic = try await server.answer("/basic-auth/user/password")
        #expect(basic.status == 401)
        #expect(basic.head.headers["WWW-Authenticate"]?.hasPrefix("Basic realm=") == true)
        let bearer = try await server.answer("/bearer", headers: [.authorization("Other x")])
        #expect(bearer.status == 401)
        #expect(bearer.head.headers["WWW-Authenticate"] == "Bearer")
        #expect(try await server.answer("/hidden-basic-auth/user/password").status == 404)
        #expect(try await server.answer("/status/407").status == 407)
    }

    @Test(arguments: TestServers.httpbins)
    func `an Authorization field of the user is sent`(server: TestServers) async throws {
        let basic = try await server.answer(
            "/basic-auth/user/pass%20word", headers: [.authorization(username: "user", password: "pass word")])
        #expect(try basic.json() == ["authenticated": true, "user": "user"])
        let bearer = try await server.answer("/bearer", headers: [.authorization(bearerToken: "abc.def")])
        #expect(try bearer.json() == ["authenticated": true, "token": "abc.def"])
    }

    @Test func `the reason phrase is available for HTTP versions that have reason phrases`() async throws {
        let teapot = try await TestServers.httpbin.answer("/status/418")
        #expect(teapot.head.reasonPhrase == "I'M A TEAPOT")
        #expect(teapot.head.headers["X-More-Info"] == "http://tools.ietf.org/html/rfc2324")
        #expect(teapot.text.contains("teapot"))
        #expect(try await TestServers.httpbin.answer("/status/404").head.reasonPhrase == "NOT FOUND")
        #expect(try await TestServers.httpbinHTTP2.answer("/status/418").head.reasonPhrase == nil)
    }

    @Test(arguments: TestServers.httpbins)
    func `the status code is one of the offered codes`(server: TestServers) async throws {
        for _ in 1...10 {
            #expect(try await [200, 404, 503].contains(server.answer("/status/200,404:2,503").status))
        }
    }
}
