import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Problem details (RFC 9457), and responses whose body does not matter.
@Suite(.timeLimit(.minutes(10))) struct ProblemDetailsTests {
    @Test func `a problem is read from JSON`() throws {
        let text =
            #"{"type":"https://e.test/credit","title":"No credit","status":403,"detail":"30","instance":"/1","balance":30}"#
        let problem = try #require(ProblemDetails(json: Data(text.utf8)))
        #expect(problem.type == "https://e.test/credit" && problem.title == "No credit" && problem.status == 403)
        #expect(problem.detail == "30" && problem.instance == "/1" && problem.extensions == ["balance": 30])
    }

    @Test(arguments: ["[]", "", "{", "1"]) func `other JSON is no problem`(_ text: String) {
        #expect(ProblemDetails(json: Data(text.utf8)) == nil)
    }

    @Test func `members of the wrong type are ignored`() throws {
        let problem = try #require(ProblemDetails(json: Data(#"{"type":1,"title":[],"status":"403"}"#.utf8)))
        #expect(problem.type == "about:blank" && problem.title == nil && problem.status == nil)
        #expect(problem.extensions.isEmpty)
    }

    @Test func `an error response has its problem`() async throws {
        let server = try await LocalServer { router in
            router.get("/problem") { _ in
                .text(
                    #"{"title":"No credit"}"#, status: 403,
                    headers: ["Content-Type": "application/problem+json; charset=utf-8"])
            }
            router.get("/plain") { _ in .text(#"{"title":"No credit"}"#, status: 403) }
        }
        let session = Session()
        for validates in [true, false] {
            let request = session.request(server.url("/problem"))
            let answer = await (validates ? request.validate() : request).serializingData().response
            #expect((answer.error == nil) != validates)
            #expect(answer.problem?.title == "No credit")
            #expect(answer.error?.problem?.title == (validates ? "No credit" : nil))
        }
        #expect(await session.request(server.url("/plain")).serializingData().response.problem == nil)
        await session.shutdown()
        await server.stop()
    }

    @Test(arguments: [200, 201, 204]) func `any body is nothing`(status: Int) async throws {
        let server = try await LocalServer { router in
            router.get("/empty", .status(status))
            router.get("/full", .text("a body", status: status == 204 ? 200 : status))
        }
        let session = Session()
        for path in ["/empty", "/full"] {
            let answer = await session.request(server.url(path)).validate().serializingNothing().response
            #expect(answer.error == nil && answer.response != nil)
            #expect(answer.data?.count ?? 0 == (path == "/full" ? 6 : 0))
        }
        let failed = await session.request(server.url("/missing")).validate().serializingNothing().response
        #expect(failed.error != nil)
        await session.shutdown()
        await server.stop()
    }
}
