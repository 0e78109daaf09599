import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Each secret, through each way in which it could be shown.
@Suite(.timeLimit(.minutes(10))) struct SecretTableTests {
    // MARK: Secrets

    enum Secret: Sendable, CustomTestStringConvertible {
        case field(String, String)
        case url(String)
        case body(String, type: String?)

        var testDescription: String {
            switch self {
            case .field(let name, let value): "\(name): \(value)"
            case .url(let text): text
            case .body(let text, let type): "\(text) as \(type ?? "nothing")"
            }
        }

        /// A request with the secret.
        func request() throws -> HTTPRequest {
            var request = HTTPRequest(url: try #require(URL(string: "https://stub.test/")), method: .post)
            switch self {
            case .field(let name, let value): request.headers.append(name: name, value: value)
            case .url(let text): request.url = try #require(URL(string: text))
            case .body(let text, let type):
                if let type { request.headers.append(name: "Content-Type", value: type) }
                request.body = .data(Data(text.utf8))
            }
            return request
        }

        /// The fields with the secret, as a response has them.
        var fields: HTTPHeaders { if case .field(let name, let value) = self { [name: value] } else { [:] } }
    }

    /// Fields that are secrets by their names.
    static let names = [
        "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "apikey",
        "Ocp-Apim-Subscription-Key",
        "X-Functions-Key", "X-GitHub-OTP", "X-Auth-Key", "Private-Token", "DD-APPLICATION-KEY", "X-Master-Key",
        "X-Amz-Security-Token", "X-Amz-Server-Side-Encryption-Customer-Key", "x-goog-encryption-key", "X-Vault-Token",
        "CF-Access-Client-Secret", "X-Sentry-Auth", "X-SAML-Response", "X-XSRF-TOKEN", "X_Subscription_Key", "X-MFA",
        "X-Twilio-Signature", "X-Session-Id",
    ]

    /// Fields with URLs, and values that are secrets whatever their fields.
    static let values: [(String, String)] = [
        ("Location", "/cb?token=s3cret"), ("Location", "?s3cret"), ("Location", "//me:s3cret@h/"),
        ("Location", "app:cb?code=s3cret"), ("Location", "app://cb#access_token=s3cret"),
        ("Location", "https://me:s3cret@h/"), ("Location", "/a;jsessionid=s3cret/b"), ("Location", "cb#token=s3cret"),
        ("Location", "/go?to=https://me:s3cret@h/"), ("Location", "/go/https://h/https://me:s3cret@h/"),
        ("Location", "/a?b=c&https://me:s3cret@h/?d=e"), ("Location", "/a?b=\"s3cret\" <s3cret>, s3cret"),
        ("Content-Location", "/a?sig=s3cret"), ("Referer", "/a?sig=s3cret"), ("Referer", "https://h/?s3cret"),
        ("Refresh", "0; url=/a?token=s3cret"), ("Refresh", "0;URL='//me:s3cret@h/'"),
        ("Refresh", "5;url=app:b#c=s3cret"),
        ("Link", "</a?token=s3cret>; rel=\"next\""), ("Link", "<//me:s3cret@h/>; rel=a, <//me:s3cret@h/b>; rel=c"),
        ("Link", "<a>; rel=b; anchor=\"https://me:s3cret@h/?s3cret\", </?x=s3cret>; rel=d"), ("Link", "</a?s3cret"),
        ("Operation-Location", "/status?sig=s3cret"), ("Destination", "//me:s3cret@h/a"),
        ("X-Original-URL", "//me:s3cret@h/?a=s3cret"), ("X-Anything", "/a?token=s3cret"),
        ("X-Anything", "Bearer s3cret"), ("X-Anything", "Basic s3cret"), ("X-Anything", "eyJs3cret"),
    ]

    static let secrets: [Secret] =
        names.map { .field($0, "s3cret") } + values.map { .field($0, $1) } + [
            .url("https://me:s3cret@stub.test/"), .url("https://stub.test/?token=s3cret"),
            .url("https://stub.test/#access_token=s3cret"), .url("https://stub.test/a;jsessionid=s3cret/b"),
            .url("https://stub.test/?subscription-key=s3cret&x=1"),
            .body(#"{"a":1,"password":"s3cret"}"#, type: nil), .body(#" [{"apiKey":"s3cret"}]"#, type: nil),
            .body(#"{"password":"s3cret"}"#, type: "text/plain"), .body(#"{"password":"s3cret"}"#, type: "a/b"),
            .body("a=1&password=s3cret", type: nil),
            .body("password=s3cret", type: "application/x-www-form-urlencoded"),
            .body("\u{1e}{\"password\":\"s3cret\"}\n", type: "application/json-seq"),
        ]

    // MARK: Outlets

    private static func dumped(_ value: some Any) -> [String] {
        var text = ""
        dump(value, to: &text)
        return [text, String(describing: value), String(reflecting: value)]
    }

    private static func error(_ secret: Secret) throws -> RequestError {
        let request = try secret.request()
        let response = HTTPResponse(url: request.url, statusCode: 400, headers: secret.fields)
        return RequestError(.validation(.unacceptableStatusCode(400))).during(request, attempts: 1)
            .about(response, body: request.body?.data)
    }

    private static func configuration(_ secret: Secret) -> Session.Configuration {
        var configuration = Session.Configuration()
        configuration.headers = secret.fields
        if case .url(let text) = secret { configuration.proxy = .url(text) }
        return configuration
    }

    struct Outlet: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let texts: @Sendable (Secret) async throws -> [String]

        init(_ name: String, _ texts: @escaping @Sendable (Secret) async throws -> [String]) {
            (testDescription, self.texts) = (name, texts)
        }
    }

    static let outlets = [
        Outlet("HTTPHeader") { $0.fields.flatMap { dumped($0) } },
        Outlet("HTTPHeaders") { dumped($0.fields) },
        Outlet("HTTPRequest") { dumped(try $0.request()) },
        Outlet("RequestBody") { dumped(try $0.request().body as Any) },
        Outlet("HTTPResponse") {
            dumped(HTTPResponse(url: try $0.request().url, statusCode: 200, headers: $0.fields))
        },
        Outlet("RequestError") { dumped(try error($0)) },
        Outlet("an error that caused another") {
            dumped(RequestError(.adaptation, underlying: try error($0)))
        },
        Outlet("Session.Configuration") { dumped(configuration($0)) },
        Outlet("cURLDescription") {
            let plain = HTTPRequest(url: try #require(URL(string: "http://h/")))
            return [
                try $0.request().cURLDescription(), plain.cURLDescription(defaultHeaders: $0.fields),
            ]
        },
        Outlet("responses and log lines") { secret in
            let lines = Locked<[String]>([])
            let monitor = LoggingEventMonitor(level: .headers) { line in lines.withLock { $0.append(line) } }
            let transport = StubTransport { _ in
                .response(status: 200, headers: secret.fields, body: Data("fine".utf8))
            }
            let session = Session(configuration: configuration(secret), eventMonitors: [monitor], transport: transport)
            let response = await session.request(try secret.request()).serializingString().response
            await session.shutdown()
            let written = lines.withLock { $0 }
            #expect(written.count >= 3)
            return written + [response.description, response.debugDescription]
        },
        Outlet("log records and metrics") { secret in
            let lines = Locked<[String]>([])
            let metrics = MetricsMonitor()
            let records = LogRecordMonitor.json(level: .headers) { line in lines.withLock { $0.append(line) } }
            let transport = StubTransport { _ in
                .response(status: 500, headers: secret.fields, body: Data("fine".utf8))
            }
            let session = Session(
                configuration: configuration(secret), eventMonitors: [records, metrics], transport: transport)
            _ = await session.request(try secret.request()).validate().serializingString().response
            await session.shutdown()
            let (written, text) = (lines.withLock { $0 }, metrics.prometheusText)
            #expect(written.count >= 2 && !text.isEmpty)
            return written + [text]
        },
        Outlet("resume data") { secret in
            guard case .field = secret else { return [] }
            let data = ResumeData(
                request: HTTPRequest(url: try secret.request().url, headers: secret.fields),
                response: HTTPResponse(
                    url: try secret.request().url, statusCode: 200, headers: ["ETag": "\"1\"", "Content-Length": "9"]),
                path: "/tmp/.a.part")
            return [String(decoding: try #require(data).encoded(), as: UTF8.self)]
        },
    ]

    @Test(arguments: outlets)
    func `no output shows a secret`(_ outlet: Outlet) async throws {
        for secret in Self.secrets {
            for text in try await outlet.texts(secret) {
                #expect(!text.contains("s3cret"), "\(secret.testDescription) is shown: \(text)")
            }
        }
    }

    @Test func `no output shows a secret of the configuration`() throws {
        var configuration = Session.Configuration()
        let credential = Credential(username: "s3cret", password: "s3cret")
        configuration.proxy = .url("http://proxy.test:1", credential: credential)
        configuration.tls.clientIdentity = .pem(data: Data("a".utf8), key: Data("s3cret".utf8), passphrase: "s3cret")
        configuration.tls.clientIdentities = ["h": .pkcs12(file: "/a", passphrase: "s3cret")]
        configuration.tls.proxyClientIdentity = .pem(file: "/a", passphrase: "s3cret")
        configuration.cookies.initial = [Cookie(name: "a", value: "s3cret", domain: "h")]
        configuration.headers.append(name: "Ocp-Apim-Subscription-Key", value: "s3cret")
        var request = HTTPRequest(url: try #require(URL(string: "http://h/")))
        request.credential = credential
        request.proxy = .url("http://me:s3cret@proxy.test:1")
        for text in Self.dumped(configuration) + Self.dumped(request) + Self.dumped(credential) {
            #expect(!text.contains("s3cret"))
        }
    }

    @Test func `values that are not secret are shown`() throws {
        let fields: HTTPHeaders = [
            "Accept": "a", "Idempotency-Key": "b", "Surrogate-Key": "c", "Sec-WebSocket-Key": "d", "X-Cache-Key": "e",
            "Location": "/@someone/f", "Author": "g", "WWW-Authenticate": "Basic realm=\"h\"", "Refresh": "5; url=/i",
            "Link": "</j>; rel=\"next\", </k>; rel=\"l\"", "User-Agent": "m (+http://n.test/o)", "X-Bypass": "p",
        ]
        let text = fields.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
        #expect(fields.description == text)
        var dumped = ""
        dump(
            HTTPRequest(url: try #require(URL(string: "http://h/q")), headers: fields, body: .data(Data(12))),
            to: &dumped)
        for part in ["http://h/q", "Idempotency-Key", "12 bytes", "GET", "/@someone/f"] {
            #expect(dumped.contains(part))
        }
    }

    // MARK: Across origins

    @Test(arguments: names)
    func `a redirect to another origin does not send a secret`(_ name: String) throws {
        var request = HTTPRequest(
            url: try #require(URL(string: "http://a.test/")), headers: [name: "x", "Accept": "y"])
        request.leaveOrigin()
        #expect(request.headers == ["Accept": "y"])
    }
}

extension Data {
    fileprivate init(_ count: Int) { self.init(repeating: 0x41, count: count) }
}
