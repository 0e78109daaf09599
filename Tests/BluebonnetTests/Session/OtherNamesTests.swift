import Bluebonnet
import BluebonnetTesting
import Foundation
import TestSupport
import Testing

/// The names of other libraries, as a compiler sees them.
@Suite(.timeLimit(.minutes(10))) struct OtherNamesTests {
    /// A line of a program, what the compiler's first message about it must contain, and what the message leads to.
    static let lines: [(code: String, message: String, mended: String)] = [
        ("let request = Request(url: url)", "HTTPRequest(url:)", "let request = try HTTPRequest(url: url)"),
        (
            "let response = try await session.execute(Request(url: url))", "send(_:",
            "let response = try await session.send(HTTPRequest(url: url))"
        ),
        (
            "let (data, head) = try await session.data(from: url)", "get(_:)",
            "let data = try await session.get(url).data"
        ),
        ("let response = try await session.fetch(url)", "get(_:)", "let response = try await session.get(url)"),
        (
            "let client = try Session.builder().connectTimeout(.seconds(3)).redirect(.none).build()",
            "Session(baseURL:",
            "let client = Session(baseURL: url, timeouts: Timeouts(connect: .seconds(3)))"
        ),
        (
            "let client = Session(timeout: Timeout(connect: .seconds(3), read: .seconds(9)))", "Timeouts(",
            "let client = Session(baseURL: url, timeouts: Timeouts(connect: .seconds(3), idle: .seconds(9)))"
        ),
        (
            "let client = Session(configuration: SessionConfiguration.default)", "Session.Configuration",
            "let client = Session(configuration: Session.Configuration())"
        ),
        (
            "let client = Session(limits: Limits(maxConnections: 3))", "connectionLimits",
            "var options = Session.Configuration(); options.connectionLimits.total = 3"
        ),
        (
            "let client = Session(retry: .exponential(retries: 3))", "RetryPolicy(retryLimit:",
            "let client = Session(interceptor: RetryPolicy(retryLimit: 3))"
        ),
        ("final class Observer: SessionTaskDelegate {}", "EventMonitor", "struct Observer: EventMonitor {}"),
        ("func answer() -> Response { while true {} }", "HTTPResponse", "func answer(_ head: HTTPResponse) {}"),
        (
            "do { try f() } catch let error as HTTPError { print(error) }", "RequestError",
            "do { try f() } catch let error as RequestError { print(error.kind) }"
        ),
        ("let jar = CookieJar()", "session.cookies", "let jar = session.cookies"),
        (
            "let client = Session(cookies: [\"a\": \"b\"])", "session.cookies.set(",
            "try await session.cookies.set(\"a=b\", for: URL(string: url)!)"
        ),
        (
            "var form = FormData()", "MultipartFormData",
            "var form = MultipartFormData(); try await session.post(url, body: .multipart(form))"
        ),
        (
            "let proxy = Proxy.all(\"http://proxy.example:3128\")", "proxy of a Session.Configuration",
            "var options = Session.Configuration(); options.proxy = .url(\"http://proxy.example:3128\", excluding: [])"
        ),
        (
            "let text = try await session.get(url).data()", "a property of the type Data?",
            "let data: Data? = try await session.get(url).data"
        ),
        ("try await session.get(url).raiseForStatus()", "validate()", "try await session.get(url).validate()"),
        (
            "let task = session.request(url, parameters: [\"a\": 1], encoding: URLEncoding.queryString)", "encoder:",
            "let task = session.request(url, parameters: [\"a\": 1], encoder: .urlEncodedForm)"
        ),
        (
            "await StubTransport().onGet(\"/users\").reply(200)", "stub(.get",
            "StubTransport().stub(.get, \"/users\", .json([1]))"
        ),
        (
            "let server = try await LocalServer.start()", "LocalServer { router",
            "let server = try await LocalServer { router in router.get(\"/\", .text(\"a\")) }"
        ),
        (
            "for try await line in try await session.get(url).body.lines { print(line) }", "use data",
            "for try await line in session.streamRequest(url).streamTask().lines { print(line) }"
        ),
        (
            "if try await session.get(url).status == .ok {}", "statusCode",
            "if try await session.get(url).statusCode == 200 {}"
        ),
        (
            "let task = session.request(url, method: .post, json: [1])", "post(_:json:)",
            "try await session.post(url, json: [1])"
        ),
        (
            "try await session.stream(\"GET\", url) { response in print(response.status) }", "streamRequest",
            "for try await bytes in session.streamRequest(url).streamTask().bytes { print(bytes) }"
        ),
        (
            "let policy = RetryPolicy(limit: 3, backoff: .exponential(base: .seconds(1)))", "RetryPolicy(retryLimit:",
            "let policy = RetryPolicy(retryLimit: 3)"
        ),
        (
            "for try await event in session.events(url) { print(event.data) }", "eventSource",
            "for try await event in session.eventSource(url) { print(event.data) }"
        ),
        (
            "var form = MultipartFormData(); form.append(\"a\", name: \"b\")", "withName:",
            "var form = MultipartFormData(); form.append(\"a\", withName: \"b\")"
        ),
        (
            "let task = session.request(url).authenticate(with: 1)", "authenticate(username:password:)",
            "let task = session.request(url).authenticate(username: \"a\", password: \"b\")"
        ),
        (
            "var options = Session.Configuration(); options.redirectConfiguration = .disallow",
            "redirectHandler: Redirector.doNotFollow",
            "let client = Session(redirectHandler: Redirector.doNotFollow)"
        ),
        (
            "let limits = Timeouts(connect: .seconds(1), read: .seconds(2))", "idle:",
            "let limits = Timeouts(pool: .seconds(1), connect: .seconds(1), idle: .seconds(2), total: .seconds(3))"
        ),
        (
            "let ca = try Certificate(pem: Data())", "init(der:)", "let ca = try Certificate(der: Data())"
        ),
        (
            "if try await session.request(url).ok {}", "statusCode",
            "if try await session.get(url).statusCode == 200 {}"
        ),
        (
            "let request = try HTTPRequest(url: url, method: .POST)", "post",
            "let request = try HTTPRequest(url: url, method: .post)"
        ),
        (
            "for try await chunk in session.request(url).body { print(chunk) }", "streamRequest",
            "for try await bytes in session.streamRequest(url).streamTask().bytes { print(bytes) }"
        ),
        (
            "let value = try await session.get(url).headers.get(\"A\")", "use headers[",
            "let value = try await session.get(url).headers[\"A\"]"
        ),
        (
            "try await session.cookies.set(\"a\", \"b\", domain: \"c\")", "set(_:)",
            "try await session.cookies.set(\"a=b\", for: URL(string: url)!)"
        ),
        (
            "let next = try await session.get(url).links", "link(relation:",
            "let next = try await session.get(url).response?.link(relation: \"next\")"
        ),
        (
            "let task = session.download(url, to: \"/tmp/a\", resume: true)", "download(_:to:)",
            "let task = session.download(url, to: URL(filePath: \"/tmp/a\"))"
        ),
        (
            "let client = Session(baseURL: url, timeout: .seconds(3), proxy: url, verify: .caFile(\"a\"))",
            "Session(configuration:)",
            "var options = Session.Configuration(); options.proxy = .url(url); let client = Session(configuration: options)"
        ),
        (
            "let transport = StubTransport(); transport.stub(.get, url, with: .json([1]))", "stub(.get",
            "let transport = StubTransport(); transport.stub(.get, url, .json([1]))"
        ),
        (
            "for try await event in session.request(url).serverSentEvents { print(event.data) }", "eventSource",
            "for try await event in session.eventSource(url) { print(event.data) }"
        ),
        (
            "try await session.webSocket(url).connect()", "webSocketTask()",
            "let socket = session.webSocket(url).webSocketTask()"
        ),
        (
            "let file = try await session.download(url).serializingDownloadedFileURL().value", "serializingURL()",
            "let file = try await session.download(url).serializingURL().value"
        ),
        (
            "session.request(url).retry(RetryPolicy())", "retry(using:)",
            "session.request(url).retry(using: RetryPolicy())"
        ),
        ("let transport = MockTransport()", "StubTransport", "let transport = StubTransport()"),
        ("let controller = AbortController()", "cancel()", "session.request(url).cancel()"),
        (
            "StubTransport().register(\"/users\", response: .json([1]))", "stub(.get",
            "StubTransport().stub(.get, \"/users\", .json([1]))"
        ),
        (
            "var options = Session.Configuration(); options.cache = .memory(maxBytes: 1)", "memoryCapacity:",
            "var options = Session.Configuration(); options.cache = ResponseCache(memoryCapacity: 1)"
        ),
        (
            "struct Log: Middleware {}", "RequestInterceptor",
            "struct Log: RequestInterceptor {}; _ = Session(interceptors: [Log()])"
        ),
    ]

    /// Type-checks a program whose function has the given lines; returns the first error of each line.
    private static func errors(of lines: [String]) async throws -> [Int: String] {
        let directory = try TestDirectory()
        let file = directory.url.appendingPathComponent("program.swift")
        let head = """
            import Bluebonnet
            import BluebonnetTesting
            import Foundation
            func f() throws {}
            """
        let functions = lines.enumerated().map { "func g\($0)(url: String, session: Session) async throws { \($1) }" }
        try ([head] + functions).joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../../Sources")
        let maps = try FileManager.default.contentsOfDirectory(at: sources, includingPropertiesForKeys: nil)
        let modules = try RunningProgram.products.appendingPathComponent("Modules")
        let folders = ([modules] + maps).flatMap { ["-I", $0.path] }
        // Its errors are written to the standard error.
        let command = "exec swiftc -typecheck -swift-version 6 \"$@\" 2>&1"
        let outcome = try await Subprocess.run("/usr/bin/env", ["bash", "-c", command, "bash"] + folders + [file.path])
        let prefix = file.path + ":"
        var errors: [Int: String] = [:]
        for line in String(decoding: outcome.output, as: UTF8.self).split(separator: "\n") where line.hasPrefix(prefix)
        {
            let words = line.dropFirst(prefix.count).split(separator: ":", maxSplits: 3)
            guard words.count == 4, words[2] == " error", let number = Int(words[0]) else { continue }
            let index = number - head.split(separator: "\n").count - 1
            errors[index] = errors[index] ?? String(words[3])
        }
        try #require(outcome.code != 0 || errors.isEmpty)
        return errors
    }

    @Test func `a name of another library has a message with ours`() async throws {
        let errors = try await Self.errors(of: Self.lines.map(\.code))
        for (index, line) in Self.lines.enumerated() {
            let error = errors[index] ?? "no error"
            #expect(error.contains("unavailable") || error.contains("renamed"), "\(line.code): \(error)")
            #expect(error.contains(line.message), "\(line.code): \(error)")
        }
    }

    @Test func `what the messages name compiles`() async throws {
        let errors = try await Self.errors(of: Self.lines.map(\.mended))
        for (index, error) in errors { Issue.record("\(Self.lines[index].mended): \(error)") }
    }

    /// ``TestSupport`` has some of the names, as another package may.
    @Test func `a type of another package keeps its name`() throws {
        struct Delegate: SessionDelegate {
            func name() -> String { "\(Self.self)" }
        }
        let jar: CookieJar = ["a": "b"]
        let timeout: Timeout<Int> = Timeout(3)
        #expect(Response(status: 200).status == 200 && Delegate().name() == "Delegate")
        #expect(jar["a"] == "b" && timeout.value == 3 && Limits.self == TestSupport.Limits.self)
        #expect(throws: HTTPError.self) { throw HTTPError.status(500) }
    }
}
