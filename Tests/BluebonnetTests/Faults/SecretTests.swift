import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// The inputs of secrets, and the outputs that must not contain them.
@Suite(.timeLimit(.minutes(10))) struct SecretTests {
    /// The secrets of every test.
    private static let secret = "hunter2-Xk9"

    /// An input of a secret.
    struct Place: Sendable, CustomTestStringConvertible {
        let name: String
        var url = "http://127.0.0.1:PORT/a"
        var headers: HTTPHeaders = [:]
        var body: String?

        var testDescription: String { name }
    }

    static let places = [
        Place(name: "the user's password", url: "http://user:\(secret)@127.0.0.1:PORT/a"),
        Place(name: "the user's name", url: "http://\(secret)@127.0.0.1:PORT/a"),
        Place(name: "a token in the query", url: "http://127.0.0.1:PORT/a?access_token=\(secret)&b=c"),
        Place(name: "a key in the query", url: "http://127.0.0.1:PORT/a?b=c&api_key=\(secret)"),
        Place(name: "a signature in the query", url: "http://127.0.0.1:PORT/a?X-Amz-Signature=\(secret)"),
        Place(name: "Authorization", headers: ["Authorization": "Bearer \(secret)"]),
        Place(name: "authorization", headers: ["authorization": "Basic \(secret)"]),
        Place(name: "Proxy-Authorization", headers: ["Proxy-Authorization": "Basic \(secret)"]),
        Place(name: "Cookie", headers: ["Cookie": "session=\(secret)"]),
        Place(name: "X-Api-Key", headers: ["X-Api-Key": secret]),
        Place(name: "X-Auth-Token", headers: ["X-Auth-Token": secret]),
        Place(
            name: "a form's password", headers: ["Content-Type": "application/x-www-form-urlencoded"],
            body: "name=a&password=\(secret)"),
        Place(
            name: "a password in JSON", headers: ["Content-Type": "application/json"],
            body: "{\"name\": \"a\", \"password\": \"\(secret)\"}"),
    ]

    private func request(_ place: Place, in session: Session, port: Int) -> DataRequest {
        let url = place.url.replacing("PORT", with: "\(port)")
        return session.request(url, method: place.body == nil ? .get : .post, headers: place.headers) {
            if let body = place.body { $0.body = .data(Data(body.utf8)) }
        }
    }

    /// Every text about a request and its response.
    private func texts<Value>(_ task: DataTask<Value>) async -> [(String, String)] {
        let answer = await task.response
        var texts = [
            ("the request", "\(task.request)"), ("the request, for debugging", task.request.debugDescription),
            ("the command", task.request.cURLDescription()), ("the response", "\(answer)"),
            ("the response, for debugging", answer.debugDescription), ("the result", "\(answer.result)"),
        ]
        if let request = answer.request {
            texts.append(("the sent request", "\(request)"))
            texts.append(("its fields", "\(request.headers)"))
        }
        if let response = answer.response {
            texts.append(("the head", "\(response)"))
            texts.append(("its fields", "\(response.headers)"))
        }
        if let error = answer.error {
            texts.append(("the error", "\(error)"))
            texts.append(("the error, for debugging", String(reflecting: error)))
            texts.append(("the error's words", error.localizedText))
        }
        return texts
    }

    private func expectNoSecret<Value>(
        in task: DataTask<Value>, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        for (name, text) in await texts(task) {
            #expect(!text.contains(Self.secret), "\(name)", sourceLocation: sourceLocation)
        }
    }

    @Test(arguments: places)
    func `no text about a success contains a sent secret`(_ place: Place) async throws {
        let server = try await LocalServer { router in
            router.fallback { _ in .text("answer") }
        }
        let session = TestHarness.session()
        let task = request(place, in: session, port: server.port).serializingString()
        #expect(try await task.value == "answer")
        await expectNoSecret(in: task)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: places)
    func `no text about a failure contains a sent secret`(_ place: Place) async throws {
        let server = try await LocalServer { router in
            router.fallback { _ in .text("answer", status: 500) }
        }
        let session = TestHarness.session()
        let closed = try DeadPort.refusing()
        let invalid = request(place, in: session, port: server.port)
        invalid.validate { _, _, _ in throw TestFailure("no") }
        let tasks = [
            request(place, in: session, port: closed).serializingString(),
            request(place, in: session, port: server.port).validate().serializingString(),
            invalid.serializingString(),
            request(place, in: session, port: server.port).serializingDecodable(Int.self).request.serializingString(
                encoding: .utf16),
            request(place, in: session, port: 99_999).serializingString(),
            request(place, in: session, port: server.port).cancel().serializingString(),
        ]
        for task in tasks { await expectNoSecret(in: task) }
        let undecodable = request(place, in: session, port: server.port).serializingDecodable(Int.self)
        #expect(await undecodable.response.error?.kind == .serialization(.decodingFailed))
        await expectNoSecret(in: undecodable)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [
        "http://user:SECRET@", "http://user:SECRET@:80/", "user:SECRET@example.com", "http://user:SECRET@exa mple.com/",
        "http://user:SECRET@example.com:port/", "http://user:SECRET@[::1/", "ftp://user:SECRET@example.com/",
        "ftp://example.com/?token=SECRET", "http:///?token=SECRET", "?token=SECRET", "//user:SECRET@example.com/",
        "http://user:us/er:SECRET@example.com/", "http://example.com:port/?a=SECRET#b=SECRET",
    ])
    func `the error of an invalid URL does not contain its secret`(_ text: String) async throws {
        let session = Session(transport: StubTransport { _ in .ok })
        let task = session.request(text.replacing("SECRET", with: Self.secret)).serializingString()
        #expect(await task.response.error != nil)
        await expectNoSecret(in: task)
    }

    @Test(arguments: ["Set-Cookie", "X-Api-Key", "X-Auth-Token", "X-CSRF-Token"])
    func `no text contains a received secret`(_ name: String) async throws {
        let session = Session(
            transport: StubTransport { _ in
                .text("answer", headers: HTTPHeaders([HTTPHeader(name: name, value: "a=\(Self.secret); Secure")]))
            })
        let task = session.request("http://example.com/a").serializingString()
        #expect(try await task.value == "answer")
        await expectNoSecret(in: task)
    }

    @Test(arguments: ["Location", "Content-Location"])
    func `no text contains the secret of a received URL`(_ name: String) async throws {
        let url = "https://user:\(Self.secret)@example.com/?access_token=\(Self.secret)"
        let session = Session(
            transport: StubTransport { _ in
                .text("answer", status: 201, headers: HTTPHeaders([HTTPHeader(name: name, value: url)]))
            })
        let task = session.request("http://example.com/a").serializingString()
        #expect(try await task.value == "answer")
        await expectNoSecret(in: task)
    }

    @Test(arguments: ["Authorization", "Cookie", "X-Api-Key"])
    func `no text contains a secret of the session`(_ name: String) async throws {
        let server = try await LocalServer { router in
            router.fallback { _ in .text("answer") }
        }
        let session = TestHarness.session { $0.headers.append(HTTPHeader(name: name, value: Self.secret)) }
        let task = session.request(server.url("/a")).serializingString()
        #expect(try await task.value == "answer")
        #expect(try await server.nextRequest().headers[name] == Self.secret)
        await expectNoSecret(in: task)
        #expect(task.request.cURLDescription(revealingSecrets: true).contains(Self.secret))
        try await TestHarness.end(session, server)
    }

    @Test func `the error of an invalid field does not contain its secret`() async throws {
        let session = Session(transport: StubTransport { _ in .ok })
        let task = session.request("http://example.com/", headers: ["Authorization": "Bearer \(Self.secret)\r\n"])
            .serializingString()
        #expect(await task.response.error?.kind == .invalidRequest(.fieldValue(name: "Authorization")))
        await expectNoSecret(in: task)
    }

    @Test func `secrets are shown on request`() async throws {
        let server = try await LocalServer { router in
            router.fallback { _ in .text("answer") }
        }
        let session = TestHarness.session()
        for place in Self.places {
            let task = request(place, in: session, port: server.port).serializingString()
            #expect(try await task.value == "answer")
            #expect(task.request.cURLDescription(revealingSecrets: true).contains(Self.secret), "\(place.name)")
        }
        try await TestHarness.end(session, server)
    }
}

extension RequestError {
    /// The description for a caller that knows it only as an error.
    fileprivate var localizedText: String {
        let error: any Error = self
        return "\(error)"
    }
}
