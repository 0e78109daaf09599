import BluebonnetTesting
import COpenSSL
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Digest (RFC 7616) on the wire: the example of §3.9.1, and what libcurl has wrong.
@Suite(.timeLimit(.minutes(10))) struct DigestTests {
    private static let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
    private static let opaque = "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
    private static let realm = "http-auth@example.org"
    private static let mufasa = Credential(username: "Mufasa", password: "Circle of Life")

    private static func challenge(_ algorithm: String) -> String {
        "Digest realm=\"\(realm)\", qop=\"auth, auth-int\", algorithm=\(algorithm), nonce=\"\(nonce)\", "
            + "opaque=\"\(opaque)\""
    }

    /// The answer that RFC 7616 §3.4.1 defines for the example.
    private static func response(_ algorithm: String, cnonce: String) -> String {
        func hash(_ text: String) -> String { digest(text, algorithm) }
        let secret = hash("Mufasa:\(realm):Circle of Life")
        return hash("\(secret):\(nonce):00000001:\(cnonce):auth:\(hash("GET:/dir/index.html"))")
    }

    /// A hash in hexadecimal digits, by OpenSSL.
    private static func digest(_ text: String, _ algorithm: String) -> String {
        let bytes = Array(text.utf8)
        var (output, count) = ([UInt8](repeating: 0, count: 64), UInt32(0))
        unsafe EVP_Digest(
            bytes, bytes.count, &output, &count, algorithm == "MD5" ? EVP_md5() : EVP_sha256(), nil)
        return output.prefix(Int(count)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// RFC 7616 §3.9.1 and §3.9.2; RFC 2617 §3.5.
    @Test(arguments: [
        (
            challenge("MD5"), "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", #"username="Mufasa""#,
            "8ca523f5e9506fed4657c9700eebdbec"
        ),
        (
            challenge("SHA-256"), "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", #"username="Mufasa""#,
            "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"
        ),
        (
            challenge("MD5") + ", userhash=true", "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", "userhash=true",
            "8ca523f5e9506fed4657c9700eebdbec"
        ),
        (#"Digest realm="http-auth@example.org", nonce="a""#, "", #"username="Mufasa""#, nil),
        (challenge("MD5-sess"), "0a4f113b", "algorithm=MD5-sess", nil),
    ])
    func `Bluebonnet's own answer is that of the RFC`(
        _ text: String, cnonce: String, part: String, response: String?
    ) throws {
        let challenge = try #require(Challenge.parse([text]).first)
        let field = DigestAnswer(challenge: challenge, credential: Self.mufasa)
            .fieldValue(method: .get, target: "/dir/index.html", nonce: cnonce)
        #expect(field.hasPrefix("Digest ") && field.contains(part))
        let sent = try #require(AuthorizationField(field))
        if let response { #expect(sent["response"] == response && sent["cnonce"] == cnonce) }
        #expect(sent["qop"] == (text.contains("qop") ? "auth" : nil))
        if text.contains("sess") {
            func hash(_ text: String) -> String { Self.digest(text, "MD5") }
            let secret = hash(hash("Mufasa:\(Self.realm):Circle of Life") + ":\(Self.nonce):\(cnonce)")
            let answer = "\(secret):\(Self.nonce):00000001:\(cnonce):auth:\(hash("GET:/dir/index.html"))"
            #expect(sent["response"] == hash(answer))
        }
    }

    /// Libcurl would take the first, or mix the parameters of both.
    @Test(
        arguments: [("MD5", true), ("SHA-256", true), ("MD5", false), ("SHA-256", false)], ChallengedKind.allCases)
    func `the first Digest challenge that is understood is answered`(
        _ row: (algorithm: String, isOneField: Bool), kind: ChallengedKind
    ) async throws {
        let (algorithm, isOneField) = row
        let challenges = [#"Digest realm="other", nonce="x", algorithm=SHA-512-256"#, Self.challenge(algorithm)]
        let server = try await LocalServer { router in
            router.get("/dir/index.html") { request in
                let field = request.headers["Authorization"].flatMap { AuthorizationField($0) }
                if let field, field["response"] == Self.response(algorithm, cnonce: field["cnonce"] ?? "") {
                    return .text("in")
                }
                let values = isOneField ? [challenges.joined(separator: ", ")] : challenges
                let fields = values.map { HTTPHeader(name: "WWW-Authenticate", value: $0) }
                return .status(401, headers: HTTPHeaders(fields))
            }
        }
        let session = TestHarness.session()
        let request = HTTPRequest(server.url("/dir/index.html"), credential: Self.mufasa)
        let answer = await kind.answer(request, in: session)
        #expect(answer.text == "in" && answer.status == 200 && answer.heads == [200])
        #expect(server.requestCount == 2)
        // A name cannot add a field, and a wrong password is asked for once.
        let odd = Credential(username: "Mufasa\"\r\nX-Injected: 1", password: "Circle of Life")
        let injected = HTTPRequest(server.url("/dir/index.html"), credential: odd)
        let refused = RequestError.Kind.invalidRequest(.configuration("the credential holds a line break"))
        #expect(await kind.answer(injected, in: session).error?.kind == refused)
        let wrong = HTTPRequest(
            server.url("/dir/index.html"), credential: Credential(username: "Mufasa", password: "wrong"))
        #expect(await kind.answer(wrong, in: session).status == 401)
        #expect(server.requestCount == 4)
        try await TestHarness.end(session, server)
    }

    /// Libcurl reads the first challenge, which it does not understand, and gives up.
    @Test(arguments: ["MD5", "SHA-256"])
    func `a proxy's first Digest challenge that is understood is answered`(_ algorithm: String) async throws {
        let proxy = try await LocalServer { router in
            router.fallback { request in
                let field = request.headers["Proxy-Authorization"].flatMap { AuthorizationField($0) }
                if let field, field["response"] == Self.response(algorithm, cnonce: field["cnonce"] ?? "") {
                    return .text("in")
                }
                let values = [#"Digest realm="other", nonce="x", algorithm=SHA-512-256"#, Self.challenge(algorithm)]
                let fields = values.map { HTTPHeader(name: "Proxy-Authenticate", value: $0) }
                return .status(407, headers: HTTPHeaders(fields))
            }
        }
        let session = TestHarness.session {
            $0.proxy = .url("http://127.0.0.1:\(proxy.port)", credential: Self.mufasa)
        }
        let request = HTTPRequest(url: try #require(URL(string: "http://example.com/dir/index.html")))
        let answer = await ChallengedKind.data.answer(request, in: session)
        #expect(answer.text == "in" && answer.heads == [200], "\(answer)")
        #expect(proxy.requestCount == 2)
        try await TestHarness.end(session, proxy)
    }

    /// A server that sends more than the body of its challenge.
    @Test(arguments: [10, 65_536, 300_000], [401, 407])
    func `bytes after a challenge are not the response to the credential`(_ size: Int, code: Int) async throws {
        let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        let field = code == 401 ? "WWW-Authenticate" : "Proxy-Authenticate"
        let head = "HTTP/1.1 \(code) No\r\n\(field): Basic realm=a\r\nContent-Length: \(size)\r\n\r\n"
        // Libcurl drops the bytes that it has read together with the body, and uses the connection again.
        let right = LocalServer.Script.Step.text("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright")
        let clean = LocalServer.Script.Step.bytes(
            "HTTP/1.1 \(code) No\r\n\(field): Basic realm=a\r\nContent-Length: 0\r\n\r\n")
        let challenge = LocalServer.Script.Step.bytes(head + String(repeating: "x", count: size) + evil)
        let server = try await LocalServer.scripted { number in
            .init([.waitForRequest, number == 1 ? challenge : clean, .waitForRequest, right, .waitForClose])
        }
        let session = TestHarness.session {
            if code == 407 { $0.proxy = .url("http://127.0.0.1:\(server.port)", credential: Self.mufasa) }
        }
        let request =
            code == 401
            ? HTTPRequest(server.url("/"), credential: Self.mufasa)
            : HTTPRequest(url: try #require(URL(string: "http://example.com/")))
        let answer = await ChallengedKind.data.answer(request, in: session)
        #expect(answer.text == "right", "\(answer)")
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ])
    func `the example of RFC 7616 is computed and sent correctly`(algorithm: String, expected: String) async throws {
        #expect(Self.response(algorithm, cnonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ") == expected)
        let challenge = Self.challenge(algorithm)
        let server = try await LocalServer { router in
            router.get("/dir/index.html") { request in
                request.headers.contains("Authorization")
                    ? .text("in") : .status(401, headers: ["WWW-Authenticate": challenge])
            }
        }
        let session = TestHarness.session()
        let request = HTTPRequest(server.url("/dir/index.html"), credential: Self.mufasa)
        #expect(await ChallengedKind.data.answer(request, in: session).text == "in")
        #expect(server.requests.map { $0.headers.contains("Authorization") } == [false, true])
        let field = try #require(server.requests.last?.headers["Authorization"])
        let sent = try #require(AuthorizationField(field))
        #expect(sent.scheme == "Digest")
        #expect(sent["username"] == "Mufasa" && sent["realm"] == Self.realm && sent["uri"] == "/dir/index.html")
        #expect(sent["nonce"] == Self.nonce && sent["opaque"] == Self.opaque && sent["algorithm"] == algorithm)
        #expect(sent["qop"] == "auth" && sent["nc"] == "00000001")
        #expect(sent["response"] == Self.response(algorithm, cnonce: try #require(sent["cnonce"])))
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ChallengedKind.allCases, ["SHA-512-256", "SHA-512", "SHA-512-256-sess", "unheard-of"])
    func `an algorithm that libcurl implements incorrectly is refused and nothing is sent`(
        kind: ChallengedKind, algorithm: String
    ) async throws {
        let server = try await LocalServer { router in
            router.fallback { _ in .status(401, headers: ["WWW-Authenticate": Self.challenge(algorithm)]) }
        }
        let session = TestHarness.session()
        let answer = await kind.answer(HTTPRequest(server.url("/a"), credential: Self.mufasa), in: session)
        #expect(answer.error?.kind == .authentication(.unsupportedDigestAlgorithm(algorithm)))
        #expect(answer.error?.response?.statusCode == 401)
        #expect(answer.error?.response?.headers["WWW-Authenticate"]?.contains(algorithm) == true)
        #expect(answer.error?.description.contains("Circle") == false)
        #expect(server.requests.map { $0.headers.contains("Authorization") } == [false])
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ChallengedKind.allCases, [true, false])
    func `another offered challenge is used instead`(kind: ChallengedKind, hasBody: Bool) async throws {
        let server = try await LocalServer { router in
            router.fallback { request in
                guard !request.headers.contains("Authorization") else { return .text("in \(request.text)") }
                var headers: HTTPHeaders = ["WWW-Authenticate": Self.challenge("SHA-512-256")]
                headers.append(name: "WWW-Authenticate", value: "Basic realm=\"a\"")
                return .text("out", status: 401, headers: headers)
            }
        }
        let session = TestHarness.session()
        let request = HTTPRequest(
            server.url("/a"), method: hasBody ? .post : .get, body: hasBody ? .data(Data("body".utf8)) : nil,
            credential: Self.mufasa)
        let answer = await kind.answer(request, in: session)
        #expect(answer.text == (hasBody ? "in body" : "in ") && answer.heads == [200], "\(answer)")
        let header = HTTPHeader.authorization(username: "Mufasa", password: "Circle of Life")
        #expect(server.requests.map { $0.headers["Authorization"] } == [nil, header.value])
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [true, false]) func `a stale nonce is replaced`(isOwn: Bool) async throws {
        // Bluebonnet itself answers the second challenge.
        let fresh = "Digest realm=a, nonce=new, qop=auth, stale=true"
        let other = isOwn ? "Digest realm=b, nonce=b, algorithm=SHA-512-256, " : ""
        let server = try await LocalServer { router in
            router.fallback { request in
                guard let field = request.headers["Authorization"] else {
                    return .status(401, headers: ["WWW-Authenticate": other + "Digest realm=a, nonce=old, qop=auth"])
                }
                guard field.contains("nonce=\"old\"") else { return .text("in") }
                return .status(401, headers: ["WWW-Authenticate": other + fresh])
            }
        }
        let session = TestHarness.session()
        let answer = await ChallengedKind.stream.answer(
            HTTPRequest(server.url("/a"), credential: Self.mufasa), in: session)
        #expect(answer.text == "in" && answer.heads == [200])
        #expect(server.requestCount == 3)
        try await TestHarness.end(session, server)
    }
}

/// The parameters of an `Authorization` field.
struct AuthorizationField {
    let scheme: String
    private let parameters: [String: String]

    init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        scheme = String(parts[0])
        var parameters: [String: String] = [:]
        for part in parts[1].split(separator: ", ") {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { return nil }
            parameters[String(pair[0])] = String(pair[1]).replacing("\"", with: "")
        }
        self.parameters = parameters
    }

    subscript(name: String) -> String? { parameters[name] }
}
