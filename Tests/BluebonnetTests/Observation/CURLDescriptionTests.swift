import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct CURLDescriptionTests {
    // MARK: The command

    @Test func `a GET is the URL only`() throws {
        #expect(
            try request("https://example.com/a?b=c").cURLDescription() == "curl \\\n    'https://example.com/a?b=c'")
    }

    @Test(
        arguments: [
            (HTTPMethod.get, false, nil), (.post, true, nil), (.head, false, "--head"), (.post, false, "-X 'POST'"),
            (.get, true, "-X 'GET'"), (.put, true, "-X 'PUT'"), (.delete, false, "-X 'DELETE'"),
            (.head, true, "-X 'HEAD'"),
            (HTTPMethod(rawValue: "it's"), false, "-X 'it'\\''s'"),
        ] as [(HTTPMethod, Bool, String?)])
    func `the method is named if the tool would choose another method`(
        _ method: HTTPMethod, hasBody: Bool, option: String?
    ) throws {
        let request = try request(method: method, body: hasBody ? Data("x".utf8) : nil)
        let text = request.cURLDescription()
        if let option {
            #expect(text.contains("\n    \(option) \\\n"))
        } else {
            #expect(!text.contains("-X") && !text.contains("--head"))
        }
    }

    @Test func `defaults are sent unless the request has fields of their names`() throws {
        let request = try request(headers: ["A": "own", "B": "", "C": "1", "c": "2"])
        #expect(
            request.cURLDescription(defaultHeaders: ["a": "default", "D": "default"]) == """
                curl \\
                    -H 'D: default' \\
                    -H 'A: own' \\
                    -H 'B;' \\
                    -H 'C: 1' \\
                    -H 'c: 2' \\
                    'https://example.com/'
                """)
    }

    @Test(arguments: [("gzip, br", true), ("identity", false), ("", false)])
    func `the command decodes a compressed response as the session does`(_ value: String, decodes: Bool) throws {
        let text = try request(headers: ["accept-encoding": value]).cURLDescription()
        #expect(text.contains("--compressed") == decodes)
    }

    @Test func `the tool does not add a content type to a body without a content type`() throws {
        #expect(try request(method: .post, body: Data("x".utf8)).cURLDescription().contains("-H 'Content-Type:'"))
    }

    @Test(arguments: [
        (HTTPVersionPreference.http1_1, "--http1.1"), (.http2PriorKnowledge, "--http2-prior-knowledge"),
    ])
    func `a required HTTP version is required in the command`(_ version: HTTPVersionPreference, option: String) throws {
        for url in ["http://example.com/", "https://example.com/"] {
            var request = try request(url)
            request.httpVersion = version
            // With TLS, prior knowledge is ignored.
            let isInsisted = version == .http1_1 || url.hasPrefix("http:")
            #expect(request.cURLDescription().contains(option) == isInsisted)
        }
    }

    @Test func `a body of more than 100,000 bytes is read from a file`() throws {
        let text = try request(method: .post, body: Data(repeating: 65, count: 100_001)).cURLDescription()
        #expect(text.contains("--data-binary @body") && text.utf8.count < 200)
    }

    @Test func `fields that cannot be sent are left out`() throws {
        let text = try request(headers: ["A": "b\r\nEvil: 1", "@/etc/passwd": "x", "": "y", "Good": "z"])
            .cURLDescription()
        #expect(!text.contains("Evil") && !text.contains("passwd") && text.contains("-H 'Good: z'"))
    }

    // MARK: Secrets

    static let secretive = [
        "https://ada:hunter2@example.com/p", "https://example.com/?access_token=hunter2&x=1",
        "https://example.com/?api_key=hunter2", "https://example.com/?apikey=hunter2#f",
        "https://example.com/?key=hunter2", "https://example.com/?sig=hunter2",
        "https://example.com/?user%5Bpassword%5D=hunter2",
        "https://example.com/?X-Amz-Signature=hunter2&X-Amz-Credential=hunter2", "https://example.com/?code=hunter2",
        "https://example.com/?pass%77ord=hunter2", "https://example.com/?t=eyJhunter2",
        "https://example.com/#token=hunter2",
        "https://example.com/?client_secret=hunter2&PASSWORD=hunter2", "https://example.com/?session-id=hunter2",
    ]

    @Test(arguments: secretive)
    func `secrets of a URL are redacted unless secrets are revealed`(_ url: String) throws {
        #expect(try !request(url).cURLDescription().contains("hunter2"))
        let revealed = try request(url).cURLDescription(revealingSecrets: true)
        #expect(revealed.contains("hunter2") || url.contains("/#"))
    }

    @Test func `the rest of a URL is not redacted`() throws {
        #expect(
            try request("https://u:p@example.com:81/a?x=1&token=t&q=a%20b").cURLDescription() == """
                curl \\
                    --user '<redacted>' \\
                    'https://example.com:81/a?x=1&token=<redacted>&q=a%20b'
                """)
    }

    @Test(arguments: [
        "Authorization", "authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "X-Auth-Token", "X-CSRF-Token",
    ])
    func `secrets of fields are redacted unless secrets are revealed`(_ name: String) throws {
        let request = try request(headers: [name: "hunter2"])
        #expect(request.cURLDescription().contains("-H '\(name): <redacted>'"))
        #expect(request.cURLDescription(revealingSecrets: true).contains("-H '\(name): hunter2'"))
        #expect(!request.cURLDescription(defaultHeaders: [name: "hunter2"]).contains("hunter2"))
    }

    @Test func `secrets of a default field are redacted too`() throws {
        #expect(try !request().cURLDescription(defaultHeaders: ["Authorization": "hunter2"]).contains("hunter2"))
        #expect(
            try !request(headers: ["Referer": "https://a.example/?token=hunter2"]).cURLDescription().contains("hunter2")
        )
    }

    @Test(arguments: [
        ("application/x-www-form-urlencoded", "a=1&password=hunter2", "a=1&password=<redacted>"),
        ("application/json", #"{"a":1,"password":"hunter2"}"#, #"{"a":1,"password":"<redacted>"}"#),
        ("application/json", #"{"pin" : 1234, "code":404}"#, #"{"pin" : "<redacted>", "code":404}"#),
        (
            "application/json", #"{"total_tokens":12,"token":null,"x":"eyJh"}"#,
            #"{"total_tokens":12,"token":null,"x":"<redacted>"}"#
        ),
        ("application/vnd.api+json", #"{"credentials":{"a":["}",1]},"b":2}"#, #"{"credentials":"<redacted>","b":2}"#),
        ("application/json", #"{"secret":"hun\"ter2","b":"c"}"#, #"{"secret":"<redacted>","b":"c"}"#),
        ("application/json", #"{"key":"hunter2","sort_key":"name"}"#, #"{"key":"<redacted>","sort_key":"name"}"#),
        (
            "application/json", #"{"token": 81, "session_id":-9, "key":1, "max_tokens":2, "sessions":3}"#,
            #"{"token": "<redacted>", "session_id":"<redacted>", "key":1, "max_tokens":2, "sessions":3}"#
        ),
        ("application/json", #"["password","x"]"#, #"["password","x"]"#),
        ("application/json", #"{"password":"hunt"#, #"{"password":"<redacted>""#),
        ("application/json", #"{"password":"#, #"{"password":"#),
        ("application/json", #"{"password""#, #"{"password""#),
        ("text/plain", "password=x", "password=x"),
    ])
    func `secrets of a body are redacted unless they are revealed`(_ type: String, body: String, shown: String) throws {
        let request = try request(method: .post, headers: ["Content-Type": type], body: Data(body.utf8))
        #expect(request.cURLDescription().contains("--data-raw '\(shown)'"))
        #expect(request.cURLDescription(revealingSecrets: true).contains("--data-raw '\(body)'"))
    }

    /// JSON in the data of events may be divided among several lines.
    @Test(arguments: [
        (
            "data: {\"token\":\ndata: \"hunter2\",\r\ndata:\"a\":[]}\n\n",
            "data: {\"token\":\ndata: \"<redacted>\",\r\ndata:\"a\":[]}\n\n"
        ),
        (
            "data:{\"password\"\rdata: : 5\n\ndata: {\"data\": \"data: x\"}\n\n",
            "data:{\"password\"\rdata: : \"<redacted>\"\n\ndata: {\"data\": \"data: x\"}\n\n"
        ),
    ])
    func `secrets of an event stream are redacted`(text: String, shown: String) {
        #expect(Redaction.body(text, MediaType("text/event-stream")) == shown)
    }

    // MARK: In a shell

    static let awkward = [
        "plain", "it's", "'''", "\"double\"", "$HOME `id` $(id)", "back\\slash\\", "!history !!", "line\nfeed",
        "tab\ttab",
        "cr\r\nlf", "esc\u{1B}[31m", "é€😀", "\u{85}\u{7F}\u{1}7", "*?[a]{b,c}~", "#;&|<>()", "-n", "@/etc/passwd",
        "%s%%\\n", " ", "",
        "'\u{1}'\\'$'",
    ]

    @Test(arguments: awkward)
    func `bash passes a body unchanged`(_ body: String) async throws {
        let request = try request(
            "http://127.0.0.1/", method: .post, headers: ["X": "it's $HOME \"x\""], body: Data(body.utf8))
        let (arguments, input) = try await run(request)
        #expect(arguments.contains("X: it's $HOME \"x\""))
        let index = try #require(arguments.firstIndex(of: "--data-raw"))
        #expect(Array(arguments[index + 1].utf8) == Array(body.utf8))
        #expect(input.isEmpty)
    }

    @Test func `bash pipes a body that is not text unchanged`() async throws {
        let body = Data("-%\\'\n".utf8) + Data((0...255).map { UInt8($0) }) + Data("12".utf8)
        let (arguments, input) = try await run(request(method: .post, body: body))
        #expect(arguments.contains("@-"))
        #expect(input == body)
    }

    @Test func `bash accepts the largest body in the command`() async throws {
        let body = String(repeating: "it's", count: 25_000)
        let (arguments, _) = try await run(request(method: .post, body: Data(body.utf8)))
        #expect(arguments.contains(body))
    }

    @Test func `curl sends the same request`() async throws {
        let request = try request(
            "http://127.0.0.1:1/p%5B1%5D/it's?x='$y'&z=%20&a=%7B1,2%7D", method: .put,
            headers: [
                "X-Quote": "it's \"so\"", "Accept-Encoding": "gzip", "User-Agent": "", "Authorization": "Bearer t",
            ],
            body: Data("a=@b&c='d'\né".utf8))
        let received = try await Shell.receive(from: request.cURLDescription(revealingSecrets: true))
        let target = request.url.absoluteString.dropFirst("http://127.0.0.1:1".count)
        #expect(received.hasPrefix("PUT \(target) HTTP/1.1\r\n"))
        #expect(received.contains("\r\nX-Quote: it's \"so\"\r\n"))
        #expect(received.contains("\r\nAccept-Encoding: gzip\r\n"))
        #expect(received.contains("\r\nAuthorization: Bearer t\r\n"))
        #expect(received.contains("\r\nUser-Agent:") && !received.contains("Content-Type"))
        #expect(received.hasSuffix("\r\n\r\na=@b&c='d'\né"))
    }

    @Test(arguments: [HTTPMethod.get, .head, .post, .delete, .options, HTTPMethod(rawValue: "PURGE")])
    func `curl uses the request's method`(_ method: HTTPMethod) async throws {
        let command = try request("http://127.0.0.1:1/", method: method).cURLDescription()
        let received = try await Shell.receive(from: method == .head ? command + " >/dev/null; printf ok" : command)
        #expect(received.hasPrefix("\(method.rawValue) / HTTP/1.1\r\n"))
    }

    @Test func `curl sends a body that is not text unchanged`() async throws {
        let body = Data([0, 1, 0x25, 0x5C, 0x27, 0x0A, 0x41])
        let command = try request("http://127.0.0.1:1/", method: .post, body: body).cURLDescription()
        let received = try await Shell.receive(from: command)
        #expect(received.hasSuffix("\r\n\r\n" + String(decoding: body, as: UTF8.self)))
        #expect(received.contains("Content-Length: 7\r\n"))
    }

    // MARK: Helpers

    private func request(
        _ url: String = "https://example.com/", method: HTTPMethod = .get, headers: HTTPHeaders = [:], body: Data? = nil
    ) throws -> HTTPRequest {
        HTTPRequest(
            url: try #require(URL(string: url)), method: method, headers: headers, body: body.map { .data($0) })
    }

    /// Runs the command with a function in curl's place and returns its arguments.
    private func run(_ request: HTTPRequest) async throws -> (arguments: [String], input: Data) {
        let output = try await Shell.run(
            """
            curl() { printf '%s\\0' "$@"; printf '\\0INPUT\\0'; for word; do [ "$word" = @- ] && cat; done; }
            \(request.cURLDescription(revealingSecrets: true))
            """)
        let range = try #require(output.firstRange(of: Data("\0INPUT\0".utf8)))
        let arguments = output[..<range.lowerBound].split(separator: 0, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        return (arguments, Data(output[range.upperBound...]))
    }
}
