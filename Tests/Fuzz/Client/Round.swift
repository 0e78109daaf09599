import Bluebonnet
import Foundation

/// Some exchanges at once on a life's session, and then requests to peers that behave.
struct Round: Sendable {
    let seed: UInt64
    let name: String
    let life: Life
    let peer: Peer
    let book: ExchangeTable
    let directory: String
    let settings: SessionSettings

    private var world: World { life.world }
    private var families: Families { world.options.families }
    private var reporter: Reporter { Reporter(findings: world.findings, place: name) }

    /// Runs the round; true when the session was shut down.
    func run(_ session: Session) async -> Bool {
        var random = Random(seed: seed)
        let plans = (0..<random.pick([1, 1, 2, 3, 6])).map { number in
            plan(&random, seed: Random.derive(seed, 100 + number))
        }
        let disturbance = disturbance(&random)
        await withTaskGroup(of: Void.self) { group in
            for plan in plans { group.addTask { await perform(plan, session) } }
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
        if kind == .eventSource, !families.has(.events) { kind = .data }
        let mark = Mark(value: random.next())
        var path = "/x/\(String(mark.value, radix: 16))"
        var resource = mark.value
        if settings.cache != .none, !kind.hasBody, random.chance(60) {
            let number = random.below(6)
            path = "/c/\(number)"
            // All marks that a path's answers have carried in this life may come back, at whatever place.
            resource = Random.derive(life.seed, 5000 + number)
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
        let mark = Mark(value: random.next())
        return note(
            ExchangePlan(
                seed: seed, mark: mark, resource: mark.value, kind: .data,
                place: random.pick(peer.places.filter(\.isControl)),
                path: "/control/\(String(mark.value, radix: 16))", interference: .none, families: Families.forControl,
                settings: settings, targets: [], secrets: [:]))
    }

    private func note(_ plan: ExchangePlan) -> ExchangePlan {
        world.registry.note(plan.mark, resource: plan.resource)
        for (host, secret) in plan.secrets { world.registry.note(secret: secret, for: host) }
        book.add(plan)
        return plan
    }

    private var secrets: [String: Mark] {
        ["a.test": Mark(value: Random.derive(life.seed, 7001)), "b.test": Mark(value: Random.derive(life.seed, 7002))]
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
            await life.watched("cancelAllRequests") { await session.cancelAllRequests() }
        case .shutdown(let milliseconds):
            try? await Task.sleep(for: .milliseconds(milliseconds))
            await life.watched("shutdown") { await session.shutdown() }
        }
    }

    // MARK: One exchange

    private func perform(_ plan: ExchangePlan, _ session: Session) async {
        let start = now()
        let limit = settings.longest + world.options.slack
        let book = book
        let name = name
        let item = world.watchdog.begin(milliseconds: limit) {
            "--round \(name): \(plan.kind) \(plan.url) \(plan.interference) unanswered after \(limit) ms\n"
                + book.served(plan.mark).map { $0.text() }.joined()
        }
        let outcome = await RequestSender(session: session, plan: plan, directory: directory).perform()
        world.watchdog.end(item)
        let took = now() - start
        let scripts = book.served(plan.mark)
        let isMixed = book.isMixed(plan.mark)
        book.remove(plan.mark)
        if world.options.isVerbose {
            let result =
                outcome.error.map { "\($0)" } ?? "\(outcome.response?.statusCode ?? 0), \(outcome.bytes.count) bytes"
            Output.print(
                "\(name): \(plan.kind) \(plan.url) \(plan.interference): \(result) after \(took) ms\n"
                    + scripts.map { $0.text(bytes: 20_000) }.joined())
        }
        Judge(
            plan: plan, outcome: outcome, scripts: scripts, isMixed: isMixed, milliseconds: took, world: world,
            reporter: reporter
        ).judge()
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
