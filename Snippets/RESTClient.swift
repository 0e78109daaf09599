// A small client of a REST API: a base URL, a token that is refreshed, pages,
// and errors that the server describes.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

// snippet.model
struct Note: Codable, Sendable {
    var id: Int
    var text: String
}

/// The client's own error: what the server said, or what Bluebonnet said.
enum NotesError: Error {
    case refused(status: Int, reason: String)
    case failed(RequestError)
}
// snippet.end

// snippet.client
struct NotesClient {
    let session: Session

    init(baseURL: URL, token: @escaping @Sendable () async throws -> String) {
        var configuration = Session.Configuration()
        configuration.baseURL = baseURL
        configuration.defaultQueryItems = [
            URLQueryItem(name: "client", value: "snippet")
        ]
        configuration.timeouts.total = .seconds(30)
        session = Session(
            configuration: configuration,
            interceptor: Interceptor(
                adapters: [
                    Adapter { request, _ in
                        var request = request
                        try await request.headers.update(
                            .authorization(bearerToken: token()))
                        return request
                    }
                ], retriers: [RetryPolicy()]))
    }

    /// All notes, one page after the other; stop the loop to request no more
    /// pages.
    func notes() -> Pages<[Note]> {
        session.pages(of: [Note].self, from: "notes")
    }

    func note(_ id: Int) async throws(NotesError) -> Note {
        try await value(
            of: session.request("notes/\(id)").validate().serializingDecodable(
                Note.self))
    }

    func add(_ text: String) async throws(NotesError) -> Note {
        let request = session.request(
            "notes", method: .post, parameters: Note(id: 0, text: text),
            encoder: .json)
        return try await value(
            of: request.validate().serializingDecodable(Note.self))
    }

    /// The server answers with 200 or 204, with or without a body.
    func remove(_ id: Int) async throws(NotesError) {
        try await value(
            of: session.request("notes/\(id)", method: .delete).validate()
                .serializingNothing())
    }

    private func value<Value>(of task: DataTask<Value>) async throws(NotesError)
        -> Value
    {
        let response = await task.response
        switch response.result {
        case .success(let value): return value
        case .failure(let error):
            guard let problem = response.problem else { throw .failed(error) }
            throw .refused(
                status: response.statusCode ?? 0,
                reason: problem.title ?? problem.type)
        }
    }
}
// snippet.end

/// A server with ten notes, four of them on a page.
func makeServer() async throws -> LocalServer {
    try await LocalServer { router in
        router.get("/v1/notes") { request in
            guard request.headers["Authorization"] == "Bearer token-1" else {
                return .status(401)
            }
            let first = Int(request.query["after"] ?? "0") ?? 0
            let page = (first + 1...min(first + 4, 10)).map {
                Note(id: $0, text: "note \($0)")
            }
            let headers: HTTPHeaders =
                first + 4 < 10
                ? ["Link": "<?after=\(first + 4)>; rel=\"next\""] : [:]
            return .json(page, headers: headers)
        }
        router.get("/v1/notes/:id") { request in
            guard let id = Int(request.parameters["id"] ?? ""), id <= 10 else {
                let body = #"{"title": "There is no such note", "status": 404}"#
                return .text(
                    body, status: 404,
                    headers: ["Content-Type": "application/problem+json"])
            }
            return .json(Note(id: id, text: "note \(id)"))
        }
        router.post("/v1/notes") { request in
            var note = try JSONDecoder().decode(Note.self, from: request.body)
            note.id = 11
            return .json(note, status: 201)
        }
        router.on("/v1/notes/:id", method: .delete, .status(204))
    }
}

let server = try await makeServer()
let client = NotesClient(baseURL: server.url("/v1/")) { "token-1" }
for try await page in client.notes() {
    print("a page:", page.map(\.text).joined(separator: ", "))
}
print("one:", try await client.note(3).text)
print("added:", try await client.add("buy seeds").id)
try await client.remove(11)
do {
    _ = try await client.note(99)
} catch {
    switch error {
    case .refused(let status, let reason):
        print("refused: \(status), \(reason)")
    case .failed(let error): print("failed: \(error)")
    }
}
await client.session.shutdown()
