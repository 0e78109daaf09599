import Bluebonnet
import Foundation

/// Some exchanges at once on a fuzz session, and then requests to peers that behave.
struct Round: Sendable {
    let seed: UInt64
    let name: String
    let fuzzSession: FuzzSession
    let peer: Peer
    let table: ExchangeTable
    let directory: String
    let settings: SessionSettings

    private var context: FuzzContext { fuzzSession.context }
    private var families: Families { context.options.families }
    private var reporter: Reporter { Reporter(findings: context.findings, place: name) }

    /// Runs the round; true when the session was shut down.
    func run(_ session: Session) async -> Bool {
        var random = Random(seed: seed)
        let plans = (0..<random.pick([1, 1, 2, 3, 6])).map { number in
            plan(&random, seed: Random.derive(seed, 100 + number))
        }
        let disturbance = disturbance(&random)
        await withTaskGroup(of: Void.self) { group in
            for plan in plans { group.addTask { await perform(plan, session, besides: disturbance) } }
            group.addTask { await disturb(session, disturbance) }
            // The neighbour is asked while the others misbehave.
            if disturbance == .none, random.chance(30) {
                let plan = control(&random, seed: Random.derive(seed, 90))
                group.addTask { await perform(plan, session) }
            }
        }
        if case .shutdown = disturbance { return true }
        await perform(control(&random, seed: Random.derive(seed, 91)), session)
        return false
    }

    // MARK: What is done

    private func plan(_ random: inout Random, seed: UInt64) -> ExchangePlan {
        let place = random.pick(peer.places.filter { !$0.isControl })
        var kind = random.pick(Kind.allCases)
        if kind == .socket, !families.has(.sockets) { kind = .data }
        if kind == .eventSource, !families.has(.events) { kind = .data }
        let mark = ExchangeMark(value: random.next())
        var path = "/x/\(String(mark.value, radix: 16))"
        var resource = mark.value
        if settings.cache != .none, !kind.hasBody, random.chance(60) {
            let number = random.below(6)
            path = "/c/\(number)"
            // All marks that a path's answers have carried in this session may come back, at whatever place.
            resource = Random.derive(fuzzSession.seed, 5000 + number)
        }
        var interference = Interference.none
        if families.has(.interference), random.chance(30) {
            interference = random.pick([
                .cancel(after: random.pick([0, 1, 5, 30, 200])), .cancelTask(after: random.pick([0, 1, 5, 30, 200])),
                .suspend(after: random.below(20), for: random.pick([1, 20, 100]), times: random.number(in: 1...3)),
                .leave(after: random.below(4)), .dawdle(milliseconds: random.pick([1, 5, 20])),
            ])
        }
        return note(
            ExchangePlan(
                seed: seed, mark: mark, resource: resource, kind: kind, place: place, path: path,
                interference: interference,
                families: families, settings: settings, targets: peer.places.filter { !$0.isControl }, secrets: secrets)
        )
    }

    /// A plain request to a place from which only right answers come.
    private func control(_ random: inout Random, seed: UInt64) -> ExchangePlan {
        let mark = ExchangeMark(value: random.next())
        return note(
            ExchangePlan(
                seed: seed, mark: mark, resource: mark.value, kind: .data,
                place: random.pick(peer.places.filter(\.isControl)),
                path: "/control/\(String(mark.value, radix: 16))", interference: .none, families: Families.forControl,
                settings: settings, targets: [], secrets: [:]))
    }

    private func note(_ plan: ExchangePlan) -> ExchangePlan {
        context.registry.note(plan.mark, resource: plan.resource)
        for (host, secret) in plan.secrets { context.registry.note(secret: secret, for: host) }
        table.add(plan)
        return plan
    }

    private var secrets: [String: ExchangeMark] {
        [
            "a.test": ExchangeMark(value: Random.derive(fuzzSession.seed, 7001)),
            "b.test": ExchangeMark(value: Random.derive(fuzzSession.seed, 7002)),
        ]
    }

    private enum Disturbance: Equatable {
        case none
        case cancelAll(after: Int)
        case shutdown(after: Int)
    }

    private func disturbance(_ random: inout Random) -> Disturbance {
        guard families.has(.interference) else { return .none }
        return random.pick(weighted: [
            (90, .none), (5, .cancelAll(after: random.pick([0, 5, 50]))),
            (5, .shutdown(after: random.pick([0, 5, 50]))),
        ])
    }

    private func disturb(_ session: Session, _ disturbance: Disturbance) async {
        switch disturbance {
        case .none: break
        case .cancelAll(let milliseconds):
            try? await Task.sleep(for: .milliseconds(milliseconds))
            await fuzzSession.watched("cancelAllRequests") { await session.cancelAllRequests() }
        case .shutdown(let milliseconds):
            try? await Task.sleep(for: .milliseconds(milliseconds))
            await fuzzSession.watched("shutdown") { await session.shutdown() }
        }
    }

    // MARK: One exchange

    private func perform(
        _ plan: ExchangePlan, _ session: Session, besides disturbance: Disturbance = .none
    ) async {
        let start = now()
        let limit = settings.longest + context.options.slack
        let table = table
        let name = name
        let item = context.watchdog.begin(milliseconds: limit) {
            "--round \(name): \(plan.kind) \(plan.url) \(plan.interference) unanswered after \(limit) ms\n"
                + table.served(plan.mark).map { $0.text() }.joined()
        }
        let sender = RequestSender(session: session, plan: plan, directory: directory, slack: context.options.slack)
        var outcome = await sender.perform()
        context.watchdog.end(item)
        // A shutdown closes sockets, whose readers see no error.
        if plan.kind == .socket, case .shutdown = disturbance { outcome.wasLeft = true }
        let took = now() - start
        let scripts = table.served(plan.mark)
        let isMixed = table.isMixed(plan.mark)
        let isRefused = table.isRefused(plan.mark)
        let bodySizes = table.bodySizes(plan.mark)
        table.remove(plan.mark)
        if context.options.isVerbose {
            let result =
                outcome.error.map { "\($0)" } ?? "\(outcome.response?.statusCode ?? 0), \(outcome.bytes.count) bytes"
            Output.print(
                "\(name): \(plan.kind) \(plan.url) \(plan.interference): \(result) after \(took) ms\n"
                    + scripts.map { $0.text(bytes: 20_000) }.joined())
        }
        RequestOutcomeChecker(
            plan: plan, outcome: outcome, scripts: scripts, isMixed: isMixed, isRefused: isRefused,
            bodySizes: bodySizes, milliseconds: took,
            context: context,
            reporter: reporter
        ).check()
    }
}

extension Families {
    /// What takes part in requests whose answers must be right.
    static var forControl: Families {
        var families = Families()
        try? families.keepOnly("")
        return families
    }
}
