import Bluebonnet
import BluebonnetTesting
import Foundation
import TestSupport
import Testing

/// The names of other libraries, as a compiler sees them.
@Suite(.timeLimit(.minutes(5))) struct OtherNamesTests {
    /// A line of a program, and what the compiler's first message about it must contain.
    static let lines: [(code: String, message: String)] = [
        ("let request = Request(url: url)", "HTTPRequest(url:)"),
        ("let response = try await session.execute(Request(url: url))", "send(_:"),
        ("let (data, head) = try await session.data(from: url)", "get(_:)"),
        ("let response = try await session.fetch(url)", "get(_:)"),
        ("let client = try Session.builder().connectTimeout(.seconds(3)).redirect(.none).build()", "Session(baseURL:"),
        ("let client = Session(timeout: Timeout(connect: .seconds(3), read: .seconds(9)))", "Timeouts("),
        ("let client = Session(configuration: SessionConfiguration.default)", "Session.Configuration"),
        ("let client = Session(limits: Limits(maxConnections: 3))", "connectionLimits"),
        ("let client = Session(retry: .exponential(retries: 3))", "RetryPolicy(retryLimit:"),
        ("final class Observer: SessionTaskDelegate {}", "EventMonitor"),
        ("func answer() -> Response { while true {} }", "HTTPResponse"),
        ("do { try f() } catch let error as HTTPError { print(error) }", "RequestError"),
        ("let jar = CookieJar()", "CookieStorage"),
        ("var form = FormData()", "MultipartFormData"),
        ("let proxy = Proxy.all(\"http://proxy.example:3128\")", "Session.Configuration"),
        ("let text = try await session.get(url).data()", "data"),
        ("let user = try await session.get(url).raiseForStatus()", "validate()"),
        ("let task = session.request(url, parameters: [\"a\": 1], encoding: URLEncoding.queryString)", "encoder:"),
        ("await StubTransport().onGet(\"/users\").reply(200)", "stub(.get"),
        ("let server = try await LocalServer.start()", "LocalServer { router"),
        ("for try await line in try await session.get(url).body.lines { print(line) }", "data"),
        ("if try await session.get(url).status == .ok {}", "statusCode"),
        ("let task = session.request(url, method: .post, json: [1])", "post(_:json:)"),
        ("try await session.stream(\"GET\", url) { response in print(response.status) }", "streamRequest"),
        ("let policy = RetryPolicy(limit: 3, backoff: .exponential(base: .seconds(1)))", "RetryPolicy(retryLimit:"),
        ("for try await event in session.events(url) { print(event.data) }", "eventSource"),
        ("var form = MultipartFormData(); form.append(\"a\", name: \"b\")", "withName:"),
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
