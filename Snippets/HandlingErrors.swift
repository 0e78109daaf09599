// Sends requests that fail, and distinguishes the failures.

import Bluebonnet
import BluebonnetTesting

struct Person: Codable, Sendable {
    var name: String
}

// snippet.problem
struct Problem: Codable, Sendable {
    var code: String
    var message: String
}
// snippet.end

enum HandlingErrors {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.get("/people/1", .json(["name": "Ada"]))
            router.get(
                "/people/2",
                .json(Problem(code: "gone", message: "moved away"), status: 410)
            )
            router.get(
                "/people/3", .text("<p>Ada</p>", contentType: "text/html"))
            router.get("/people/4", .json(["nickname": "Ada"]))
            router.get("/people/5", .script(.reset))
        }
        let session = Session()
        for number in 1...5 {
            await tell(session, server.url("/people/\(number)"))
        }
        await tell(session, "https://no.such.host.invalid/")
        await tell(session, "nonsense")
        await custom(session, server)
        await session.shutdown()
    }

    static func tell(_ session: Session, _ url: any URLConvertible) async {
        // snippet.tell
        do {
            let person = try await session.request(
                url, headers: [.accept("application/json")]
            )
            .validate()
            .serializingDecodable(Person.self)
            .value
            print("a person named \(person.name)")
        } catch {
            switch error.kind {
            case .validation(.unacceptableStatusCode(let code)):
                let problem = try? error.decodeBody(as: Problem.self)
                print("\(code): \(problem?.message ?? "no explanation")")
            case .validation, .serialization:
                print("an answer, but not the one we wanted: \(error)")
            case .connection, .timedOut:
                print("no answer: \(error)")
            default:
                print(error)
            }
        }
        // snippet.end
    }

    static func custom(_ session: Session, _ server: LocalServer) async {
        // snippet.validator
        struct NoName: Error {}
        let response = await session.request(server.url("/people/4"))
            .validate { request, response, data in
                let json = data.flatMap { try? JSONValue(parsing: $0) }
                return json?["name"] == nil ? .failure(NoName()) : .success(())
            }
            .serializingJSON()
            .response
        if response.error?.underlying is NoName {
            print("refused by the program's own check")
        }
        // snippet.end
    }
}

try await HandlingErrors.run()
