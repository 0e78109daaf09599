// Twenty-five short recipes; each runs against a server in this program.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

struct User: Codable, Sendable {
    var id: Int
    var name: String
}

// snippet.tagtype
enum Screen: RequestTag { typealias Value = String }
enum TraceID: RequestTag { typealias Value = String }
// snippet.end

// snippet.taskLocal
enum Trace {
    @TaskLocal static var id = "none"
}

/// Adapters see the caller's task-local values.
///
/// Monitors do not; they find what an adapter puts into the tags.
let traced = Adapter { request, _ in
    var request = request
    request.headers.update(name: "X-Trace", value: Trace.id)
    request.tags[TraceID.self] = Trace.id
    return request
}
// snippet.end

struct Recipes {
    let session: Session
    let url: URL

    func json() async throws {
        // snippet.getJSON
        let user = try await session.request(url.appending(path: "users/1"))
            .validate().serializingDecodable(User.self)
            .value
        // snippet.end
        print("1. JSON: \(user.name)")

        // snippet.postJSON
        let created = try await session.request(
            url.appending(path: "users"), method: .post,
            parameters: User(id: 2, name: "Grace"), encoder: .json
        ).validate().serializingDecodable(User.self).value
        // snippet.end
        print("2. created: \(created.name)")

        // snippet.query
        let found = try await session.request(
            url.appending(path: "search"),
            parameters: ["q": "tea & milk", "page": "2"]
        ).validate().serializingString().value
        // snippet.end
        print("3. query: \(found)")

        // snippet.headers
        let greeting = try await session.request(
            url.appending(path: "greeting"), headers: ["Accept-Language": "de"]
        )
        .validate().serializingString().value
        // snippet.end
        print("4. header: \(greeting)")

        // snippet.nothing
        try await session.request(
            url.appending(path: "users/1"), method: .delete
        )
        .validate().serializingNothing().value
        // snippet.end
        print("5. deleted")

        // snippet.status
        let response = await session.request(url.appending(path: "missing"))
            .serializingData().response
        print("6. status:", response.statusCode ?? 0)
        // snippet.end
    }

    func errors() async throws {
        // snippet.errors
        do {
            _ = try await session.request(url.appending(path: "invalid"))
                .validate().serializingData().value
        } catch {
            switch error.kind {
            case .validation:
                let reason = error.problem?.title ?? "no reason"
                print("7. refused with \(error.statusCode ?? 0): \(reason)")
            case .timedOut: print("too slow")
            default: print("failed: \(error)")
            }
        }
        // snippet.end

        // snippet.deadline
        let slow = session.request(url.appending(path: "slow")) {
            $0.timeouts.total = .milliseconds(50)
        }
        if let error = await slow.serializingData()
            .response.error, error.isTimeout
        {
            print("8. too slow")
        }
        // snippet.end

        // snippet.retry
        let answer = try await session.request(
            url.appending(path: "flaky"),
            interceptor: RetryPolicy(exponentialBackoffScale: 0.01)
        )
        .validate().serializingString().value
        // snippet.end
        print("9. after retries: \(answer)")

        // snippet.cancel
        let task = Task {
            try await session.request(url.appending(path: "slow"))
                .serializingData()
                .value
        }
        task.cancel()
        if case .failure(let error as RequestError) = await task.result,
            error.isCancellation
        {
            print("10. cancelled")
        }
        // snippet.end
    }

    func bodies(in directory: URL) async throws {
        // snippet.download
        let file = try await session.download(
            url.appending(path: "file"),
            to: .file(
                directory.appending(path: "file"), options: .removePreviousFile)
        ).validate().serializingURL().value
        // snippet.end
        print("11. downloaded \(file.lastPathComponent)")

        // snippet.upload
        let size = try await session.upload(
            file, to: url.appending(path: "size"), method: .put
        ).validate()
            .serializingString().value
        // snippet.end
        print("12. uploaded \(size) bytes")

        // snippet.multipart
        let parts = try await session.upload(
            multipartFormData: { form in
                form.append("Texas bluebonnet", withName: "name")
                form.append(file, withName: "photo")
            }, to: url.appending(path: "size")
        ).validate().serializingString().value
        // snippet.end
        print("13. a form of \(parts) bytes")

        // snippet.progress
        let request = session.download(
            url.appending(path: "file"),
            to: .file(
                directory.appending(path: "again"), options: .removePreviousFile
            ))
        async let saved = request.serializingURL().value
        for await progress in request.downloadProgressUpdates()
        where progress.completed == progress.total {
            print("14. progress: \(progress.completed) bytes")
        }
        _ = try await saved
        // snippet.end

        // snippet.lines
        var count = 0
        for try await line in session.streamRequest(
            url.appending(path: "lines")
        )
        .validate().streamTask().lines {
            count += line.isEmpty ? 0 : 1
        }
        // snippet.end
        print("15. \(count) lines")

        // snippet.events
        var configuration = EventSource.Configuration()
        configuration.finalData = "[DONE]"
        for try await event in session.eventSource(
            url.appending(path: "events"), configuration: configuration)
        {
            print("16. event: \(event.data)")
        }
        // snippet.end

        // snippet.pass
        let source = session.streamRequest(url.appending(path: "file"))
            .validate().streamTask()
        let length = try await source.response.expectedContentLength
        let copy = session.request(url.appending(path: "size"), method: .put) {
            $0.body = .stream(length: length) { source.bytes }
        }
        print(
            "17. passed on \(try await copy.validate().serializingString().value) bytes"
        )
        // snippet.end
    }

    func sessions() async throws {
        // snippet.client
        var client = Session.Configuration()
        client.baseURL = url
        client.headers.update(.authorization(bearerToken: "token-1"))
        client.timeouts.total = .seconds(30)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        client.decoder = decoder
        let api = Session(configuration: client)
        let user = try await api.request("users/1")
            .validate().serializingDecodable(User.self).value
        // snippet.end
        print("18. a client of an API: \(user.name)")
        await api.shutdown()

        // snippet.pages
        var users: [User] = []
        for try await page in session.pages(
            of: [User].self, from: url.appending(path: "pages"))
        { users += page }
        // snippet.end
        print("19. \(users.count) users on all pages")

        // snippet.atOnce
        var polite = Session.Configuration()
        polite.requestLimits.perHost = 2
        let crawler = Session(configuration: polite)
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 1...20 {
                group.addTask {
                    try await crawler.request(
                        url.appending(path: "pages/\(number)")
                    ).serializingString().value
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        // snippet.end
        print("20. \(texts.count) responses, at most two requests at once")
        await crawler.shutdown()

        // snippet.speed
        let limited = session.request(url.appending(path: "file")).speedLimits(
            download: 1_000_000)
        let bytes = try await limited.serializingData().value
        // snippet.end
        print("21. \(bytes.count) bytes, at most 1 MB each second")

        // snippet.tag
        let tagged = session.request(url.appending(path: "greeting")).tag(
            Screen.self, "home")
        let response = await tagged.serializingString().response
        print("22. tag:", response.request?.tags[Screen.self] ?? "none")
        // snippet.end

        // snippet.traced
        let greeting = try await Trace.$id.withValue("4bf92f35") {
            try await session.request(
                url.appending(path: "trace"),
                interceptor: Interceptor(adapters: [traced])
            )
            .serializingString().value
        }
        // snippet.end
        print("23. trace: \(greeting)")

        // snippet.cookies
        _ = try await session.request(url.appending(path: "login"))
            .serializingNothing().value
        let names = try await session.cookies.cookies(for: url).map(\.name)
        // snippet.end
        print("24. cookies: \(names)")

        // snippet.mock
        let stubs = StubTransport()
        stubs.stub(.get, "/users/1", .json(User(id: 1, name: "Stub")))
        let tested = Session(transport: stubs)
        let stub = try await tested.request("https://api.example/users/1")
            .serializingDecodable(User.self).value
        // snippet.end
        print("25. a mock: \(stub.name)")
        await tested.shutdown()
    }
}

let server = try await LocalServer { router in
    router.get("/users/1", .json(User(id: 1, name: "Ada")))
    router.post("/users") { .data($0.body, contentType: "application/json") }
    router.delete("/users/1", .status(200))
    router.get("/search") { request in
        .text(request.query.items.map(\.value).sorted().joined(separator: ", "))
    }
    router.get("/greeting") {
        .text($0.headers["Accept-Language"] == "de" ? "Guten Tag" : "Hello")
    }
    router.get("/invalid") { _ in
        .json(
            ["title": "The name is missing."], status: 422,
            headers: ["Content-Type": "application/problem+json"])
    }
    router.get("/slow") { _ in
        try? await Task.sleep(for: .seconds(1))
        return .ok
    }
    router.get("/flaky") {
        $0.sequence % 3 == 0 ? .text("at last") : .status(503)
    }
    router.get("/file") { _ in .data(Data(count: 100_000)) }
    router.put("/size") { .text("\($0.body.count)") }
    router.post("/size") { .text("\($0.body.count)") }
    router.get("/lines") { _ in .text("one\ntwo\nthree\n") }
    router.get("/events") { _ in
        .text(
            "data: bloom\n\ndata: [DONE]\n\n", contentType: "text/event-stream")
    }
    router.get("/pages") { request in
        let page = Int(request.query.items.first?.value ?? "1") ?? 1
        let headers: HTTPHeaders =
            page < 3 ? ["Link": "<?page=\(page + 1)>; rel=next"] : [:]
        return .json([User(id: page, name: "Page \(page)")], headers: headers)
    }
    router.get("/pages/:number") { .text($0.parameters["number"] ?? "") }
    router.get("/trace") { .text($0.headers["X-Trace"] ?? "none") }
    router.get("/login") { _ in
        .text("", headers: ["Set-Cookie": "id=1; Path=/"])
    }
}
let directory = FileManager.default.temporaryDirectory.appending(
    path: "bluebonnet-recipes")
try FileManager.default.createDirectory(
    at: directory, withIntermediateDirectories: true)
let recipes = Recipes(session: Session(), url: server.url)
try await recipes.json()
try await recipes.errors()
try await recipes.bodies(in: directory)
try await recipes.sessions()
await recipes.session.shutdown()
try FileManager.default.removeItem(at: directory)
