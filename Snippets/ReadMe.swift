// The code of README.md, which `.ci/code_blocks.py` compares with the parts of this file; runs some of it.
//
// Its lines are as wide as a code host shows them.
// swift-format-ignore-file

// snippet.get
import Bluebonnet
// snippet.hide
import BluebonnetTesting
import FoundationEssentials
// snippet.show

struct User: Codable, Sendable {
    let id: Int
    let name: String
}

func user(
    _ id: Int, in session: Session = .default
) async throws(RequestError) -> User {
    try await session.get("https://example.com/users/\(id)").validate().json()
}
// snippet.end

// snippet.client
func makeSession(token: String) -> Session {
    Session(
        baseURL: "https://example.com/v1", headers: [.authorization(bearerToken: token), .accept("application/json")],
        timeouts: Timeouts(total: .seconds(30)),  // of each attempt, and of streams and downloads
        // GET, PUT and DELETE are sent again after 503, lost connections and the like, twice by default.
        interceptors: [RetryPolicy()])
}

func useAPI(_ api: Session) async throws {
    let response = try await api.post("users", json: ["name": "Ada"], timeout: .seconds(5))
    print(response.statusCode ?? 0, response.headers["Location"] ?? "")
    print(try response.validate().json(User.self))

    let found = try await api.get(
        "users", parameters: ["name": "Ada", "limit": 10], headers: ["X-Trace": "1"])  // ?limit=10&name=Ada
    print(try found.validate().json([User].self))

    // `request` is for what `get` lacks: validators, own retries, progress, …
    let request = api.request("users/1").validate(statusCode: 200..<300).retry(5)
    print(try await request.serializingDecodable(User.self).value)

    for try await page in api.pages(of: [User].self, from: "users") {  // follows Link: <…>; rel="next"
        print(page.count)
    }
}
// snippet.end

func streams(_ session: Session, _ url: URL, _ socketURL: URL, _ fileURL: URL) async throws {
    // snippet.stream
    for try await line in session.streamRequest(url).validate().streamTask().lines {
        print(line)  // or bytes, decodables(of:), serverSentEvents; a slow reader slows the server down
    }
    for try await event in session.eventSource(url) {  // reconnects after a lost connection
        print(event.event, event.data)
    }
    // snippet.end
    // snippet.upload
    try await session.upload(fileURL, to: url, method: .put).validate().serializingNothing().value
    // snippet.end
    // snippet.download
    let file = try await session.download(
        url, to: .file(fileURL, options: [.automaticallyResume, .removePreviousFile])
    ).validate().serializingURL().value
    // snippet.end
    print(file)
    // snippet.socket
    let socket = session.webSocket(socketURL).webSocketTask()
    try await socket.send("hello")
    for try await message in socket.messages { print(message) }
    // snippet.end
}

func errors() async {
    // snippet.errors
    do throws(RequestError) {
        print(try await user(1))
    } catch {
        switch error.kind {
        case .validation(.unacceptableStatusCode(404)): print("no such user")
        case .timedOut(let stage): print("too slow: \(stage)")  // .connect, .idle, .total, …
        default: print(error)  // the connection was lost (…) [GET https://example.com/users/1]
        }
    }
    // snippet.end
}

func tests() async throws {
    // snippet.test
    let transport = StubTransport()
    transport.stub(.get, "/users/1", .json(User(id: 1, name: "Ada")), .status(503))
    let session = Session(transport: transport)
    let ada = try await user(1, in: session)  // a second request would get 503
    // snippet.end
    print(ada)
    await session.shutdown()
}

// The API of the example, on this machine.
let server = try await LocalServer { router in
    let ada = User(id: 1, name: "Ada")
    router.get("/v1/users", .json([ada]))
    router.get("/v1/users/1", .json(ada))
    router.post("/v1/users") { _ in .json(ada, status: 201, headers: ["Location": "/v1/users/1"]) }
}
var configuration = Session.Configuration()
configuration.baseURL = server.url("/v1/")
let api = Session(configuration: configuration)
try await useAPI(api)
try await tests()
await api.shutdown()
await server.stop()
_ = makeSession(token: "token")
