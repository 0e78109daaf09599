import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct `Conformance of methods` {
    static let methods: [HTTPMethod] = [.get, .post, .put, .patch, .delete, .trace]
    static let methodsWithBody: [HTTPMethod] = [.post, .put, .patch, .delete]

    @Test(arguments: TestServers.httpbins, methods)
    func `each method arrives unchanged with path and query`(server: TestServers, method: HTTPMethod) async throws {
        let path = "/anything/a/b?x=1&y=two"
        let answer = try await server.answer(path, method: method)
        let echo = try answer.json()
        #expect(answer.status == 200)
        #expect(echo["method"]?.string == method.rawValue)
        #expect(echo["args"] == ["x": "1", "y": "two"])
        #expect(echo["data"] == "")
        #expect(try echo["url"]?.string == server.url(path).absoluteString)
        #expect(echo["origin"] == "127.0.0.1")
    }

    @Test(arguments: TestServers.httpbins, methodsWithBody)
    func `each method that may have a body sends it`(server: TestServers, method: HTTPMethod) async throws {
        let answer = try await server.answer(
            "/anything?q=1", method: method, headers: [.contentType("text/plain")], body: Data("the body".utf8))
        let echo = try answer.json()
        #expect(echo["method"]?.string == method.rawValue)
        #expect(echo["data"] == "the body")
        #expect(echo["args"] == ["q": "1"])
        #expect(try answer.echoedField("Content-Length") == "8")
        #expect(try answer.echoedField("Content-Type") == "text/plain")
    }

    @Test(arguments: TestServers.httpbins, [HTTPMethod.post, .put, .patch])
    func `a method that anticipates a body is sent with a length of 0 without a body`(
        server: TestServers, method: HTTPMethod
    ) async throws {
        for body in [nil, Data()] {
            let answer = try await server.answer("/anything", method: method, body: body)
            #expect(try answer.echoedBody().isEmpty)
            #expect(try answer.json()["form"] == [:])
            #expect(try answer.echoedField("Content-Type") == nil)
            // gunicorn leaves a length of nothing out of what httpbin shows; it must not be anything else.
            #expect(try ["0", "", nil].contains(answer.echoedField("Content-Length")))
        }
    }

    @Test(arguments: TestServers.httpbins, [HTTPMethod.get, .delete])
    func `a method without a body is sent without body fields`(server: TestServers, method: HTTPMethod) async throws {
        let answer = try await server.answer("/anything", method: method)
        #expect(try answer.echoedField("Content-Length") ?? "" == "")
        #expect(try answer.echoedField("Content-Type") ?? "" == "")
        #expect(try answer.echoedField("Transfer-Encoding") == nil)
    }

    @Test(arguments: TestServers.httpbins, [HTTPMethod.get, .post, .put, .patch, .delete])
    func `the endpoint of a method accepts no other method`(server: TestServers, method: HTTPMethod) async throws {
        for other in [HTTPMethod.get, .post, .put, .patch, .delete] {
            let answer = try await server.answer("/\(method.rawValue.lowercased())?a=b", method: other)
            if other == method {
                #expect(answer.status == 200)
                #expect(try answer.json()["args"] == ["a": "b"])
            } else {
                #expect(answer.status == 405)
                #expect(answer.head.headers["Allow"]?.contains(method.rawValue) == true)
                #expect(!answer.body.isEmpty)
            }
        }
    }

    @Test(
        arguments: TestServers.httpbins,
        [
            "/get", "/anything", "/html", "/gzip", "/brotli", "/bytes/1000", "/stream/3", "/stream-bytes/100",
            "/image/png", "/status/404", "/status/204",
        ])
    func `HEAD receives the head of GET and no body`(server: TestServers, path: String) async throws {
        let head = try await server.answer(path, method: .head)
        let get = try await server.answer(path)
        #expect(head.body.isEmpty)
        #expect(head.status == get.status)
        #expect(head.head.mimeType == get.head.mimeType)
        #expect(head.head.headers["Content-Encoding"] == get.head.headers["Content-Encoding"])
        if get.head.expectedContentLength != nil {
            // The echoes of httpbin contain the method. The other responses have the length of GET.
            #expect(head.head.expectedContentLength != nil)
        }
    }

    @Test(arguments: TestServers.httpbins)
    func `a connection is used again after HEAD`(server: TestServers) async throws {
        let session = Session(configuration: .conformance)
        _ = try await server.answer("/bytes/5000", method: .head, in: session)
        let next = try await server.answer("/bytes/10?seed=1", in: session)
        #expect(next.body.count == 10)
        #expect(next.metrics.isReusedConnection)
        await session.shutdown()
    }

    @Test(arguments: TestServers.httpbins)
    func `the response to OPTIONS has the allowed methods and an empty body`(server: TestServers) async throws {
        let answer = try await server.answer("/anything", method: .options)
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
        let allowed = try #require(answer.head.headers["Allow"]).split(separator: ",").map {
            String($0.drop { $0 == " " })
        }
        #expect(allowed.sorted() == ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"])
    }

    @Test(arguments: TestServers.httpbins, ["PURGE", "M-SEARCH", "PROPFIND"])
    func `a custom method arrives`(server: TestServers, method: String) async throws {
        let answer = try await server.answer("/anything", method: HTTPMethod(rawValue: method))
        #expect(answer.status == 405)
        #expect(answer.head.headers["Allow"]?.contains("PATCH") == true)
    }
}
