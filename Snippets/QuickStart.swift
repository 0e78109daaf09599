// Shows a GET, a POST, ten parallel requests, a 404 and a timeout, with the
// requests and their durations.
//
// With a URL as the argument, the program gets this URL once, and then ten
// times in parallel.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Glibc

/// A person, as stored by the server.
struct Person: Codable, Sendable {
    var id: Int
    var name: String
    var born: Int
}

/// The body of an error response.
struct Problem: Codable, Sendable {
    var reason: String
}

enum QuickStart {
    static func run(_ arguments: [String]) async -> Int32 {
        Terminal.write(
            "", Terminal.bold("Bluebonnet \(BluebonnetInfo.version)"))
        do {
            guard let address = arguments.first else {
                try await tour()
                return 0
            }
            return await visit(address) ? 0 : 1
        } catch {
            Terminal.write("", Terminal.red("error: \(error)"))
            return 1
        }
    }

    // MARK: Without an argument: requests to the program's own server

    static func tour() async throws {
        let server = try await LocalServer { router in
            router.get(
                "/people/1",
                .json(Person(id: 1, name: "Ada Lovelace", born: 1815)))
            router.get(
                "/people/99",
                .json(
                    Problem(reason: "no person has the number 99"), status: 404)
            )
            router.post("/people") { request in
                .json(
                    try request.decode(Person.self), status: 201,
                    headers: ["Location": "/people/2"])
            }
            router.get("/letters/:number") { request in
                let number = Int(request.parameters["number"] ?? "") ?? 0
                try await Task.sleep(for: .milliseconds(40 + number * 37 % 100))
                return .text("letter \(number)")
            }
            router.get("/slow") { _ in
                try await Task.sleep(for: .seconds(60))
                return .ok
            }
        }
        let session = Session()
        Terminal.write(
            "A small JSON API of this program's own listens at \(Terminal.bold("\(server.url)"))."
        )
        await get(session, server)
        await post(session, server)
        await requestTen(session) { server.url("/letters/\($0)") }
        await getNothing(session, server)
        await waitTooLong(session, server)
        await session.shutdown()
        await server.stop()
        Terminal.write(
            "",
            "Now with a server of yours: \(Terminal.bold("./Snippets/run QuickStart https://…"))",
            "")
    }

    static func get(_ session: Session, _ server: LocalServer) async {
        Terminal.title("A GET, and its JSON as a value of a type")
        Terminal.code("get")
        // snippet.get
        let response = await session.request(server.url("/people/1"))
            .validate()
            .serializingDecodable(Person.self)
            .response
        // snippet.end
        Report.show(response, others: server.requests.last?.headers ?? [:])
    }

    static func post(_ session: Session, _ server: LocalServer) async {
        Terminal.title("A POST with parameters, encoded as JSON")
        Terminal.code("post")
        // snippet.post
        let person = Person(id: 2, name: "Grace Hopper", born: 1906)
        let response = await session.request(
            server.url("/people"), method: .post, parameters: person,
            encoder: .json
        )
        .validate(statusCode: [201])
        .serializingDecodable(Person.self)
        .response
        // snippet.end
        Report.show(response, body: server.requests.last?.text)
    }

    static func getNothing(_ session: Session, _ server: LocalServer) async {
        Terminal.title(
            "A 404: the error names the status, and holds the server's message")
        Terminal.code("not-found")
        // snippet.not-found
        let response = await session.request(server.url("/people/99"))
            .validate()
            .serializingDecodable(Person.self)
            .response
        let problem = try? response.error?.decodeBody(as: Problem.self)
        // snippet.end
        Report.show(response)
        Report.show("decodeBody", problem?.reason ?? "nothing")
    }

    static func waitTooLong(_ session: Session, _ server: LocalServer) async {
        Terminal.title("A timeout, of 300 ms in total")
        Terminal.code("timeout")
        // snippet.timeout
        let request = session.request(server.url("/slow")) { request in
            request.timeouts = Timeouts(total: .milliseconds(300))
        }
        let response = await request.serializingString().response
        // snippet.end
        Report.show(response)
    }

    // MARK: With an argument: requests to the URL

    static func visit(_ address: String) async -> Bool {
        let session = Session()
        Terminal.title("A GET of \(address)")
        Terminal.code("visit")
        // snippet.visit
        let response = await session.request(address)
            .serializingString(emptyResponseCodes: Set(200..<600))
            .response
        // snippet.end
        Report.show(response, others: session.configuration.headers)
        if response.error == nil { await requestTen(session) { _ in address } }
        await session.shutdown()
        Terminal.write("")
        return response.error == nil
    }

    // MARK: With and without an argument

    static func requestTen(
        _ session: Session, _ address: @Sendable (Int) -> any URLConvertible
    ) async {
        Terminal.title("Ten at once")
        Terminal.code("ten")
        let begin = ContinuousClock.now
        var lines: [Report.Line] = []
        // snippet.ten
        await withTaskGroup(of: Report.Line.self) { group in
            for number in 1...10 {
                let task = session.request(address(number)).serializingData()
                group.addTask {
                    Report.Line(number, begin, await task.response)
                }
            }
            for await line in group { lines.append(line) }
        }
        // snippet.end
        Report.show(lines, duration: .now - begin)
    }
}

// snippet.hide

/// Formats output for a terminal; prints plain text without a terminal.
enum Terminal {
    static let isTerminal =
        isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == nil

    static func write(_ lines: String...) {
        for line in lines { print(line.isEmpty ? "" : "  \(line)") }
        fflush(nil)
    }

    static func title(_ text: String) { write("", bold(blue(text)), "") }

    /// Writes the part of this file that has made what follows.
    static func code(_ name: String, in file: String = #filePath) {
        let source = try? String(contentsOfFile: file, encoding: .utf8)
        let lines = source?.split(separator: "\n") ?? []
        let begin = lines.drop { !$0.hasSuffix("// snippet.\(name)") }
        let code = begin.dropFirst().prefix { !$0.hasSuffix("// snippet.end") }
        for line in code { write("  " + dim(String(line.dropFirst(8)))) }
        write("")
    }

    static func bold(_ text: String) -> String { styled(text, "1") }
    static func dim(_ text: String) -> String { styled(text, "2") }
    static func red(_ text: String) -> String { styled(text, "31") }
    static func green(_ text: String) -> String { styled(text, "32") }
    static func blue(_ text: String) -> String { styled(text, "34") }

    private static func styled(_ text: String, _ code: String) -> String {
        isTerminal ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }

    /// Draws the time of a step as a part of the whole duration.
    static func bar(
        _ part: Range<Duration>, of whole: Duration, width: Int = 40
    )
        -> String
    {
        let scale = Double(width) / max(whole / .milliseconds(1), 0.001)
        let start = min(
            width - 1, Int(part.lowerBound / .milliseconds(1) * scale))
        let end = min(
            width,
            max(start + 1, Int(part.upperBound / .milliseconds(1) * scale)))
        let track = isTerminal ? "·" : "."
        return dim(String(repeating: track, count: start))
            + green(
                String(repeating: isTerminal ? "━" : "=", count: end - start))
            + dim(String(repeating: track, count: width - end))
    }

    static func padded(
        _ text: String, _ width: Int, right: Bool = false,
        with character: String = " "
    ) -> String {
        let space = String(
            repeating: character, count: max(0, width - text.count))
        return right ? space + text : text + space
    }

    static func time(_ duration: Duration) -> String {
        let microseconds = Int(duration / .microseconds(1))
        switch microseconds {
        case ..<1000:
            return
                "0.\(padded("\(microseconds / 10)", 2, right: true, with: "0")) ms"
        case ..<10_000:
            return "\(microseconds / 1000).\(microseconds / 100 % 10) ms"
        case ..<10_000_000: return "\(microseconds / 1000) ms"
        default: return "\(microseconds / 1_000_000) s"
        }
    }
}

/// Prints exchanges.
enum Report {
    /// Prints the request, the response, the duration, and the value or the
    /// error.
    ///
    /// - Parameters:
    ///   - response: The response with its request and metrics.
    ///   - others: The header fields that the session added to the request's fields.
    ///   - body: The request body.
    static func show<Value>(
        _ response: DataResponse<Value, RequestError>,
        others: HTTPHeaders = [:],
        body: String? = nil
    ) {
        if let request = response.request { show(request, others, body ?? "") }
        if let head = response.response {
            show(head, response.data?.count ?? 0)
        }
        if let metrics = response.metrics, metrics.remoteAddress != nil {
            show(metrics)
        }
        switch response.result {
        case .success(let value):
            excerpt("\(value)", of: response.response).forEach {
                Terminal.write("  " + $0)
            }
        case .failure(let error):
            Terminal.write(
                "  " + Terminal.red("RequestError") + " \(error.kind)")
            if let detail = error.detail { show("detail", detail) }
            if let code = error.statusCode { show("statusCode", "\(code)") }
            if error.isTimeout { show("isTimeout", "true") }
        }
    }

    static func show(_ name: String, _ value: String) {
        Terminal.write("  " + Terminal.dim(Terminal.padded(name, 13)) + value)
    }

    private static func show(
        _ request: HTTPRequest, _ others: HTTPHeaders, _ body: String
    ) {
        Terminal.write(
            "\(arrow("→", "->")) \(Terminal.bold(request.description))")
        for header in request.headers
            + others.filter({ !request.headers.contains($0.name) })
        {
            Terminal.write("  " + Terminal.dim(header.description))
        }
        if !body.isEmpty { Terminal.write("  " + body) }
    }

    private static func show(_ head: HTTPResponse, _ bytes: Int) {
        let status = "\(head.statusCode) \(head.reasonPhrase ?? "")"
        let isGood = head.statusCode < 400
        let facts = [
            isGood ? Terminal.green(status) : Terminal.red(status),
            "\(head.httpVersion)", head.mimeType,
        ]
        let size = "\(bytes) \(bytes == 1 ? "byte" : "bytes")"
        Terminal.write(
            "\(arrow("←", "<-")) \((facts.compactMap { $0 } + [size]).joined(separator: ", "))"
        )
        guard let location = head.headers["Location"] else { return }
        Terminal.write("  " + Terminal.dim("Location: \(location)"))
    }

    private static func show(_ metrics: TransferMetrics) {
        let end = metrics.total
        let stages = [
            ("name lookup", metrics.nameLookup), ("connect", metrics.connect),
            ("TLS", metrics.tlsHandshake),
            ("send", metrics.requestStart), ("wait", metrics.firstByte),
            (
                metrics.firstByte != nil
                    ? "receive"
                    : metrics.requestStart != nil ? "wait" : "until failed", end
            ),
        ]
        Terminal.write("")
        var start = Duration.zero
        for case (let name, let moment?) in stages where moment > start {
            let stage = start..<moment
            let time = Terminal.padded(
                Terminal.time(moment - start), 8, right: true)
            Terminal.write(
                "  \(Terminal.padded(name, 13))\(Terminal.bar(stage, of: end)) \(time)"
            )
            start = moment
        }
        let total = Terminal.padded(Terminal.time(end), 8, right: true)
        let connection =
            metrics.isReusedConnection
            ? "a connection used before" : "a new connection"
        Terminal.write(
            "  \(Terminal.padded("in all", 13))\(Terminal.padded("on \(connection)", 40)) \(total)",
            "")
    }

    /// Prints one of several exchanges that ran at the same time.
    struct Line: Sendable {
        var number: Int
        var end: Duration
        var outcome: String
        var isNewConnection: Bool

        init(
            _ number: Int, _ begin: ContinuousClock.Instant,
            _ response: DataResponse<some Sendable, RequestError>
        ) {
            self.number = number
            end = .now - begin
            outcome =
                response.response.map { "\($0.statusCode), \($0.httpVersion)" }
                ?? "\(response.result)"
            isNewConnection = response.metrics?.isReusedConnection == false
        }
    }

    static func show(_ lines: [Line], duration: Duration) {
        for line in lines.sorted(by: { $0.number < $1.number }) {
            let number = Terminal.padded(
                Terminal.padded("\(line.number)", 2, right: true), 13)
            let bar = Terminal.bar(.zero..<line.end, of: duration)
            let time = Terminal.padded(Terminal.time(line.end), 8, right: true)
            Terminal.write("  \(number)\(bar) \(time)  \(line.outcome)")
        }
        let connections = lines.count(where: \.isNewConnection)
        let waited = lines.map(\.end).reduce(.zero, +)
        let sum =
            "\(Terminal.time(waited)) of waiting in \(Terminal.time(duration))"
        Terminal.write(
            "",
            "  \(sum), with \(connections) new connection\(connections == 1 ? "" : "s")"
        )
    }

    /// Returns the first lines of a body, with JSON formatted in lines.
    private static func excerpt(_ text: String, of response: HTTPResponse?)
        -> [String]
    {
        let isJSON = response?.mimeType?.hasSuffix("json") == true
        let json = isJSON ? try? JSONValue(parsing: text) : nil
        let lines = (json?.prettyDescription ?? text).split(
            whereSeparator: \.isNewline)
        // Remove control characters, because text from a server must not
        // control the terminal.
        let first = lines.prefix(10).map { line in
            let safe = String(line.map { isControl($0) ? " " : $0 })
            return safe.count > 76 ? safe.prefix(75) + "…" : safe
        }
        return first
            + (lines.count > 10
                ? [Terminal.dim("and \(lines.count - 10) lines more")] : [])
    }

    private static func isControl(_ character: Character) -> Bool {
        character.unicodeScalars.contains {
            $0.properties.generalCategory == .control
        }
    }

    private static func arrow(_ symbol: String, _ plain: String) -> String {
        Terminal.dim(Terminal.isTerminal ? symbol : plain)
    }
}

// snippet.show

exit(await QuickStart.run(Array(CommandLine.arguments.dropFirst())))
