/// The response that a script sends.
struct ResponseSpec: Sendable {
    var form: BodyForm
    var isHead = false
    /// The request has a body.
    var hasBody = false
    /// The session decodes content codings.
    var decodes = true
    /// The request is a download, which accepts no codings.
    var isDownload = false
    /// The largest body that the session accepts.
    var maximumBody: Int
    /// Bodies are small, so that no limit is met.
    var isSmall = false
    /// Where a redirect may lead: absolute URLs for this very exchange.
    var targets: [String] = []
    /// The host that a cookie is for.
    var host: String
    /// A secret that only this host may get back.
    var secret: ExchangeMark?
    /// The resource may be stored, and the request may be a conditional one.
    var isCacheable = false
    /// Redirects that were made already.
    var hops = 0
}

/// How a body of HTTP/1.1 ends.
enum Framing: Sendable {
    case length
    case chunked(sizes: [Int], extensions: [String], trailers: [(String, String)])
    case close
}

/// An answer before it becomes bytes of one version of HTTP or another.
struct PlannedResponse: Sendable {
    var status: Int
    var reason: String
    var fields: [(String, String)] = []
    var interim: [(Int, [(String, String)])] = []
    var framing: Framing = .length
    var body: Body
    var isRedirect = false
    var label = ""

    func expectation(_ spec: ResponseSpec) -> Expectation {
        guard !isRedirect, body.isSound, !spec.isCacheable, spec.form != .events else { return .anything }
        if spec.isHead || status == 204 { return .body([], status: status) }
        // At the border, coded or not, is nothing to be certain about.
        guard body.plain.count <= spec.maximumBody, body.coded.count <= spec.maximumBody else { return .anything }
        if body.coding != nil, !spec.decodes || spec.isDownload { return .body(body.coded, status: status) }
        return .body(body.plain, status: status)
    }
}

/// Generates answers: those that are right, and those that only the application can find wrong.
struct ResponseGrammar {
    let mark: ExchangeMark
    let families: Families

    func make(_ random: inout Random, spec: ResponseSpec) -> PlannedResponse {
        let bodies = BodyGrammar(mark: mark, families: families)
        var answer = PlannedResponse(
            status: 200, reason: random.pick(["OK", "", "Fine indeed", "é"]),
            body: bodies.make(&random, form: spec.form, decodes: spec.decodes, isSmall: spec.isSmall))
        answer.label = "answer"
        if families.has(.bomb), spec.decodes, random.chance(1) {
            answer.body = bodies.bomb(&random, megabytes: random.pick([1, 8, 40]))
            answer.label = "bomb"
        }
        answer.fields = [("Content-Type", answer.body.contentType), ("X-Mark", mark.text)]
        if let coding = answer.body.coding { answer.fields.append(("Content-Encoding", coding)) }
        if random.chance(10) { answer.status = random.pick([201, 202, 203, 226, 299, 400, 404, 500]) }
        if random.chance(4) { makeEmpty(&answer) }
        frame(&answer, &random)
        if families.has(.redirects), !spec.targets.isEmpty, random.chance(spec.hops == 0 ? 12 : 40) {
            redirect(&answer, spec, &random)
        }
        if random.chance(15) { cookies(&answer, spec, &random) }
        if spec.isCacheable { CacheGrammar(mark: mark).add(to: &answer, &random) }
        if families.has(.policies), random.chance(8) { policies(&answer, &random) }
        if random.chance(8) {
            answer.interim.append(
                (random.pick([100, 102, 103]), [("X-Interim", mark.text), ("Link", "</style.css>")]))
        }
        return answer
    }

    private func makeEmpty(_ answer: inout PlannedResponse) {
        answer.status = 204
        answer.body.plain = []
        answer.body.coded = []
        answer.body.coding = nil
        answer.fields.removeAll { $0.0 == "Content-Encoding" }
    }

    private func frame(_ answer: inout PlannedResponse, _ random: inout Random) {
        switch random.below(10) {
        case 0..<5: answer.framing = .length
        case 5..<9:
            let sizes = random.pick([[1], [5, 1, 700], [4096], [100_000], [16, 32, 64]])
            answer.framing = .chunked(
                sizes: answer.body.coded.count > 5000 ? [4096] : sizes,
                extensions: random.pick([[""], [";a=b"], ["", ";x", ";y=\"z;\""]]),
                trailers: random.chance(20) ? [("X-Trailer", mark.text), ("Content-Length", "3")] : [])
        default: answer.framing = .close
        }
    }

    private func redirect(_ answer: inout PlannedResponse, _ spec: ResponseSpec, _ random: inout Random) {
        answer.isRedirect = true
        answer.label = "redirect"
        answer.status = random.pick([301, 302, 303, 307, 308, 300, 304, 305])
        var location = random.pick(spec.targets)
        if random.chance(30) {
            location = random.pick([
                "/again", "?q", "#f", "", "//", "http:///x", "http://[::1", "http://a.test:99999/", "ftp://a.test/",
                "file:///etc/passwd",
                "http://user:pass@a.test/", "javascript:x", "http://a.test:0/", "http://%00/", "http://a.test/\u{1}",
                "http:/a.test/x",
                "../../../..", String(repeating: "a/", count: 3000), "http://é.test/", location + " " + location,
                "\\\\a.test\\x",
                "http://127.0.0.1:1/", location + "%", "https:" + location.dropFirst(5),
            ])
        }
        answer.fields.append(("Location", location))
        if random.chance(10) { answer.fields.append(("Location", random.pick(spec.targets))) }
    }

    private func cookies(_ answer: inout PlannedResponse, _ spec: ResponseSpec, _ random: inout Random) {
        let value = spec.secret?.text ?? "v"
        if families.has(.cookieflood), random.chance(5) {
            for number in 0..<random.pick([50, 300]) {
                answer.fields.append(
                    ("Set-Cookie", "c\(number)=\(String(repeating: "c", count: random.pick([5, 500])))"))
            }
        }
        for _ in 0..<random.number(in: 1...3) {
            let attributes = random.pick([
                "", "; Path=/", "; Path=/x", "; Secure", "; HttpOnly", "; Max-Age=1", "; Max-Age=0", "; Max-Age=-5",
                "; Max-Age=99999999999999999999", "; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
                "; Expires=Fri, 31 Dec 9999 23:59:59 GMT",
                "; Expires=junk", "; Domain=test", "; Domain=.test", "; Domain=\(spec.host)", "; Domain=b.test",
                "; Domain=com",
                "; SameSite=None", "; Domain=", "; Path=", "; Domain=127.0.0.1", "; Path=\"/x\"", ";;;",
                "; Domain=.\(spec.host)",
            ])
            let name = random.pick(["X", "s", "__Host-a", "__Secure-b", "", "a b", "é", "X"])
            answer.fields.append(("Set-Cookie", "\(name)=\(value)\(attributes)"))
        }
    }

    private func policies(_ answer: inout PlannedResponse, _ random: inout Random) {
        switch random.below(3) {
        case 0:
            let value = random.pick([
                "max-age=1", "max-age=100; includeSubDomains", "max-age=0", "max-age=\"5\"",
                "max-age=99999999999999999999", "x", "",
            ])
            answer.fields.append(("Strict-Transport-Security", value))
        case 1:
            let value = random.pick([
                "h2=\":1\"", "h2=\"b.test:443\"; ma=1", "clear", "h3=\":443\"", "h2=\"", "h2=\":99999\"",
                "h1=\":0\"; ma=-1; persist=9", ",",
            ])
            answer.fields.append(("Alt-Svc", value))
        default:
            answer.fields.append(("Refresh", "0; url=/x"))
            answer.fields.append(("Link", "</a>; rel=preload"))
        }
    }
}

/// Generates fields that control caches.
struct CacheGrammar {
    let mark: ExchangeMark

    func add(to answer: inout PlannedResponse, _ random: inout Random) {
        func maybe(_ percent: Int, _ name: String, _ values: [String]) {
            if random.chance(percent) { answer.fields.append((name, random.pick(values))) }
        }
        maybe(
            85, "Cache-Control",
            [
                "max-age=60", "max-age=0", "max-age=1", "no-store", "no-cache", "private", "public, max-age=31536000",
                "must-revalidate",
                "max-age=99999999999999999999", "max-age=-1", "max-age=\"60\"", "s-maxage=5", "max-age=60, max-age=0",
                "immutable, max-age=9",
                "stale-while-revalidate=60, max-age=0", "stale-if-error=60, max-age=0", "no-cache=\"x-mark\"", ",,,",
                "max-age", "MAX-AGE=5",
            ])
        maybe(
            50, "ETag",
            ["\"a\"", "W/\"a\"", "\"\"", "a", "\"\(mark.text)\"", "\"", "*", String(repeating: "e", count: 4000)])
        maybe(
            30, "Last-Modified",
            [
                "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "x", "Fri, 31 Dec 9999 23:59:59 GMT",
                "Thu, 01 Jan 0000 00:00:00 GMT",
            ])
        maybe(
            30, "Expires",
            [
                "0", "-1", "Sun, 06 Nov 1994 08:49:37 GMT", "Fri, 31 Dec 9999 23:59:59 GMT",
                "Fri, 31 Dec 99999999999 23:59:59 GMT",
            ])
        maybe(
            40, "Date",
            ["Sun, 06 Nov 1994 08:49:37 GMT", "x", "Sun, 22 Nov 2026 18:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"])
        maybe(20, "Age", ["0", "5", "-1", "99999999999999999999", "x", "1, 2"])
        maybe(25, "Vary", ["*", "Accept", "X-Vary", "Accept-Encoding, Cookie", ",", "x y"])
        if random.chance(10) {
            answer.status = random.pick([304, 206, 203, 404, 410, 301, 501])
            if answer.status == 301 { answer.isRedirect = true }
        }
    }
}
