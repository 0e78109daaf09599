import Bluebonnet

/// Decides whether what a request came to is right, by what the peer has done.
struct Judge {
    let plan: ExchangePlan
    let outcome: Outcome
    let scripts: [Script]
    let milliseconds: Int
    let world: World
    let reporter: Reporter

    func judge() {
        count()
        judgeMarks()
        judgeTime()
        judgeLimits()
        if case .internal? = outcome.error?.kind, world.options.families.has(.internal) {
            fail(.internal, "\(outcome.error as Any)")
        }
        if plan.place.isControl { return judgeControl() }
        judgeResult()
    }

    private var isDisturbed: Bool {
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
            "\(plan.kind) \(plan.url) \(plan.interference), after \(milliseconds) ms:\(sizes) \(outcome.bytes.count) bytes: \(text)",
            scripts: scripts)
    }

    private func count() {
        let name =
            outcome.error.map { "\($0.kind)" }
            ?? (outcome.wasLeft ? "left" : "success \(outcome.response?.statusCode ?? 0)")
        world.findings.count(String(name.prefix { $0 != ":" }.prefix(70)))
        world.counters.withLock { counters in
            counters.requests += 1
            if plan.place.isControl { counters.slowestControl = max(counters.slowestControl, milliseconds) }
        }
    }

    /// Nothing of another exchange is in the answer.
    private func judgeMarks() {
        if let mark = world.registry.foreignMark(in: outcome.bytes, resource: plan.resource) {
            fail(.foreign, "the body holds \(mark.text)")
        }
        for field in outcome.response?.headers ?? [:] {
            guard field.name.lowercased() != "set-cookie" else { continue }
            if let mark = world.registry.foreignMark(in: field.value.utf8, resource: plan.resource) {
                fail(.foreign, "the field \(field.name) holds \(mark.text)")
            }
        }
    }

    /// The limit for the whole holds for each exchange, of which a redirect is one more.
    private func judgeTime() {
        guard plan.kind != .eventSource else { return }
        let allowed = plan.settings.total * max(1, scripts.count)
        world.counters.withLock { $0.latest = max($0.latest, milliseconds - allowed) }
        if milliseconds > allowed + world.options.slack / 2 { fail(.late, "\(allowed) ms were allowed") }
    }

    private func judgeLimits() {
        if plan.kind != .lines, plan.kind != .events, plan.kind != .eventSource,
            outcome.bytes.count > plan.settings.maximumBody
        {
            fail(.limit, "\(plan.settings.maximumBody) bytes were allowed")
        }
    }

    private func judgeControl() {
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

    private func judgeResult() {
        guard !isDisturbed, let script = scripts.last, outcome.origin == .network else { return }
        switch script.expectation {
        case .anything: break
        case .failure:
            if received { fail(.truncated, "\(outcome.error as Any)") }
        case .body(let bytes, let status):
            guard received else {
                // Others on the same place may have spoiled the connection.
                if plan.place.isTame, scripts.count == 1, !plan.settings.hsts, !plan.settings.altSvc, !isByLimit {
                    fail(.wrong, "\(outcome.error as Any)")
                }
                return
            }
            guard outcome.response?.statusCode == status, isSame(bytes) else {
                return fail(.wrong, "other bytes than the \(bytes.count) expected, or another status than \(status)")
            }
        }
    }

    /// Fails for what the session does not allow.
    private var isByLimit: Bool {
        switch outcome.error?.kind {
        case .timedOut, .invalidResponse(.headTooLarge), .invalidResponse(.bodyTooLarge), .redirect: true
        default: false
        }
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
