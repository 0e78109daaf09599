import Bluebonnet
import FoundationEssentials

/// Decides whether the outcome of a request is right, by the actions of the peer.
struct RequestOutcomeChecker {
    let plan: ExchangePlan
    let outcome: Outcome
    let scripts: [Script]
    let isMixed: Bool
    /// Whether a GOAWAY frame on its connection may have told that the request was not processed.
    let isRefused: Bool
    /// The sizes of the bodies that arrived whole over HTTP/2.
    let bodySizes: [Int]
    let milliseconds: Int
    let context: FuzzContext
    let reporter: Reporter

    func check() {
        count()
        if !isMixed { checkMarks() }
        checkTime()
        checkLimits()
        if case .internal? = outcome.error?.kind, context.options.families.has(.internal) {
            fail(.internal, "\(outcome.error as Any)")
        }
        checkSendings()
        if plan.place.isControl { return checkControl() }
        checkResult()
    }

    private var isDisturbed: Bool {
        if outcome.error?.isTimeout == true, context.watchdog.hasLagged(since: now() - milliseconds) { return true }
        if case .none = plan.interference, outcome.error?.isCancellation != true,
            outcome.error?.kind != .sessionShutDown,
            !outcome.wasLeft
        {
            return false
        }
        return true
    }

    private func fail(_ oracle: Oracle, _ text: String) {
        let sizes = outcome.response.map { " \($0.statusCode) \($0.httpVersion)" } ?? ""
        reporter.failure(
            oracle,
            "\(plan.kind) \(plan.url) \(plan.interference), after \(milliseconds) ms:\(sizes) "
                + "\(outcome.bytes.count) bytes: \(text) [\(plan.settings.text)]",
            scripts: scripts)
    }

    private func count() {
        let name =
            outcome.error.map { "\($0.kind)" }
            ?? (outcome.wasLeft ? "left" : "success \(outcome.response?.statusCode ?? 0)")
        context.findings.count(String(name.prefix { $0 != ":" }.prefix(70)))
        context.counters.withLock { counters in
            counters.requests += 1
            if plan.place.isControl { counters.slowestControl = max(counters.slowestControl, milliseconds) }
        }
    }

    /// Whether unsolicited bytes may have crossed the request on its way, before the peer could see it.
    private func mayHaveCrossed(_ mark: ExchangeMark) -> Bool {
        scripts.isEmpty && context.registry.wasUnasked(mark, since: now() - milliseconds - 10)
    }

    /// Nothing of another exchange is in the answer.
    private func checkMarks() {
        // Where a redirect led to is not the exchange's own: others may have stored an answer there.
        guard outcome.source == .network || outcome.response?.url.path() == plan.path else { return }
        if let mark = context.registry.foreignMark(in: outcome.bytes, resource: plan.resource), !mayHaveCrossed(mark) {
            fail(.foreign, "the body holds \(mark.text)")
        }
        for field in outcome.response?.headers ?? [:] {
            guard field.name.lowercased() != "set-cookie" else { continue }
            if let mark = context.registry.foreignMark(in: field.value.utf8, resource: plan.resource),
                !mayHaveCrossed(mark)
            {
                fail(.foreign, "the field \(field.name) holds \(mark.text)")
            }
        }
    }

    /// The limit for the whole holds for each exchange, of which a redirect is one more.
    private func checkTime() {
        // The limit for the whole does not hold for an open WebSocket.
        guard plan.kind != .eventSource, plan.kind != .socket else { return }
        let allowed = plan.settings.total * max(plan.settings.attempts, scripts.count)
        guard !context.watchdog.hasLagged(since: now() - milliseconds) else { return }
        context.counters.withLock { $0.latest = max($0.latest, milliseconds - allowed) }
        if milliseconds > allowed + context.options.slack / 4 { fail(.late, "\(allowed) ms were allowed") }
    }

    private func checkLimits() {
        // For bodies in memory alone.
        let isInMemory: Bool =
            switch plan.kind {
            case .bytes, .lines, .events, .eventSource, .download, .socket: false
            default: true
            }
        if isInMemory, outcome.bytes.count > plan.settings.maximumBody {
            fail(.limit, "\(plan.settings.maximumBody) bytes were allowed")
        }
    }

    /// A POST is not sent again after a connection that ended silently, and arrives as it was given.
    ///
    /// After a redirect, it may be a GET.
    private func checkSendings() {
        guard plan.kind.hasBody else { return }
        let isRedirected = scripts.contains { $0.label.contains("redirect") }
        if !isRefused, !isRedirected, let index = scripts.firstIndex(where: \.endsSilently), index < scripts.count - 1 {
            fail(.repeated, "it was sent \(scripts.count) times")
        }
        // Libcurl ends a body that the server has refused, or answered with a redirect.
        guard plan.kind != .multipart, !isMixed, !isRedirected, let response = outcome.response,
            response.statusCode < 300
        else { return }
        for size in bodySizes where size != plan.bodySize {
            fail(.repeated, "\(size) of \(plan.bodySize) bytes arrived")
        }
    }

    private func checkControl() {
        guard !isDisturbed else { return }
        guard case .body(let bytes, let status)? = scripts.last?.expectation else {
            return fail(.control, "\(outcome.error as Any)")
        }
        guard received, outcome.response?.statusCode == status, outcome.bytes == bytes else {
            return fail(.control, "\(outcome.error as Any)")
        }
    }

    /// The response has come in whole, whatever its reader made of it.
    private var received: Bool {
        switch outcome.error?.kind {
        case nil, .serialization: true
        default: false
        }
    }

    /// The answer is that of a request which the peer has seen.
    ///
    /// Of one that was sent again, it may have seen the first last.
    private func checkResult() {
        guard !isDisturbed, !isMixed, !isGreeting, !scripts.isEmpty, outcome.source == .network else { return }
        var wanted: (bytes: [UInt8], status: Int)?
        for script in scripts {
            switch script.expectation {
            case .anything: return
            case .failure: if looksComplete(script, outcome.bytes) { return }
            case .body(let bytes, let status):
                if received, outcome.response?.statusCode == status, isSame(bytes) || looksComplete(script, bytes) {
                    return
                }
                wanted = (bytes, status)
            }
        }
        switch (wanted, received) {
        case (nil, false): break
        case (nil, true): fail(.truncated, "\(outcome.error as Any)")
        case (_?, false):
            // Others on the same place may have spoiled the connection.
            if plan.place.isTame, scripts.count == 1, !plan.settings.hsts, !plan.settings.altSvc, !isByLimit {
                fail(.wrong, "\(outcome.error as Any)")
            }
        case (let wanted?, true):
            fail(
                .wrong,
                "expected \(wanted.status) and \(wanted.bytes.count) bytes, \(difference(from: wanted.bytes))")
        }
    }

    /// Whether libcurl cannot tell that the answer is cut short.
    ///
    /// That is so before 8.1.0, where another stream on the connection broke a rule of HTTP/2, and in all versions where
    /// `RST_STREAM(NO_ERROR)` ends it; the article "Security and limits" names both.
    private func looksComplete(_ script: Script, _ bytes: [UInt8]) -> Bool {
        if script.label.contains("RST_STREAM 0 "), bytes.starts(with: outcome.bytes) { return true }
        return !context.options.families.has(.h2reset) && !plan.place.isTame && script.label.hasPrefix("http/2")
            && bytes.starts(with: outcome.bytes)
    }

    /// Whether the answer is what a wild place began a connection with: a request that was sent again can meet that.
    private var isGreeting: Bool { outcome.response?.headers.contains("X-Greeting") ?? false }

    /// Fails for what the session does not allow.
    private var isByLimit: Bool {
        switch outcome.error?.kind {
        case .timedOut, .webSocket(.pingUnanswered), .redirect: true
        case .invalidResponse(.headTooLarge), .invalidResponse(.bodyTooLarge): true
        // Libcurl before 8.1.0 may lose the beginning of a head of HTTP/2 that does not fit its buffer.
        case .invalidResponse(.malformed):
            scripts.last.map {
                $0.label.hasPrefix("http/2") && $0.headBytes > max(plan.settings.receiveBuffer, 32 * 1024)
            } ?? false
        default: false
        }
    }

    /// Where the body begins to be another.
    private func difference(from bytes: [UInt8]) -> String {
        let place = zip(bytes, outcome.bytes).enumerated().first { $0.element.0 != $0.element.1 }?.offset
        guard let place else { return "the same as far as it goes" }
        func show(_ bytes: [UInt8]) -> String { String(decoding: bytes[place...].prefix(60), as: UTF8.self) }
        return "others from \(place) on: \(show(outcome.bytes)) for \(show(bytes))"
    }

    private func isSame(_ bytes: [UInt8]) -> Bool {
        switch plan.kind {
        case .lines:
            let text = String(decoding: bytes, as: UTF8.self)
            var lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }.map(String.init)
            if lines.last == "" { lines.removeLast() }
            return outcome.bytes == lines.flatMap { Array(($0 + "\n").utf8) }
        case .events: return true
        case .download: return outcome.error != nil || outcome.bytes == bytes
        default: return outcome.bytes == bytes
        }
    }
}
