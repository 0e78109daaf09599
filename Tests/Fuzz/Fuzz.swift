import Bluebonnet
import Foundation
import Glibc

/// Keeps trying to make the library crash, hang, grow or lie, by a peer that sends anything.
@main
enum Fuzz {
    static func main() async {
        do {
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            exit(await Run(options).run() ? 0 : 1)
        } catch {
            FileHandle.standardError.write(Data("error: \((error as? Misuse)?.text ?? "\(error)")\n".utf8))
            exit(64)
        }
    }
}

/// One run: lanes that lead one life after the other, stopped now and then to look at what the process holds.
struct Run {
    private let options: Options
    private let context: FuzzContext
    private let start = now()
    private let peak = Locked(0)

    init(_ options: Options) {
        self.options = options
        let findings = Findings()
        context = FuzzContext(
            options: options, findings: findings,
            watchdog: Watchdog(findings: findings, continuesAfterFailure: options.continuesAfterFailure),
            tls: options.certificates.flatMap { TLSIdentity(folder: $0) })
    }

    /// True when no oracle failed.
    func run() async -> Bool {
        Output.print("seed \(options.seed), without: \(options.families.left.joined(separator: ","))")
        watchMemory()
        if let repeated = options.repeated {
            for _ in 0..<options.times {
                await FuzzSession(seed: repeated.life, context: context, journal: Journal(path: nil)).run(
                    only: repeated.round)
            }
        } else {
            await epochs()
        }
        summarize()
        return context.findings.failures.isEmpty
    }

    // MARK: Lanes

    private func epochs() async {
        var base: ProcessState?
        var number = 0
        while !isOver {
            number += 1
            // The first is to warm up: pools, caches and tables that are made once.
            let end = now() + (number == 1 ? 15_000 : 60_000)
            await withTaskGroup(of: Void.self) { group in
                for lane in 0..<options.lanes { group.addTask { await self.lead(lane, until: end) } }
            }
            context.registry.reset()
            let state = await rest(base)
            Output.print(
                "\(seconds) s: \(progress); at rest \(state.text), \(peak.withLock { $0 } / 1024) MiB at most")
            guard let warm = base else {
                if number >= (options.isSoak ? 3 : 1) { base = state }
                continue
            }
            compare(state, with: warm)
        }
    }

    private func lead(_ lane: Int, until end: Int) async {
        let journal = Journal(path: options.journal.map { "\($0)/lane-\(lane)" })
        while !isOver, now() < end {
            let number = context.counters.withLock { counters in
                counters.begun += 1
                return counters.begun
            }
            await FuzzSession(seed: Random.derive(options.seed, number), context: context, journal: journal).run {
                isOver || now() > end
            }
        }
    }

    private var isOver: Bool {
        if let requests = options.requests { return context.counters.withLock { $0.requests } >= requests }
        return Double(now() - start) > options.minutes * 60_000
    }

    // MARK: What the process holds

    /// All sessions and peers are gone: what is left, when it has had a moment to go.
    private func rest(_ base: ProcessState?) async -> ProcessState {
        var state = ProcessState.settled()
        for _ in 0..<50 {
            try? await Task.sleep(for: .milliseconds(100))
            state = ProcessState.settled()
            if let base, state.descriptors <= base.descriptors, state.threads <= base.threads { break }
        }
        return state
    }

    private func compare(_ state: ProcessState, with base: ProcessState) {
        if state.descriptors > base.descriptors + 4 || state.threads > base.threads + 4 {
            context.findings.add(.resources, "grew from \(base.text) to \(state.text)")
        }
        if state.resident > base.resident + (options.growth ?? (options.isSoak ? 32 : 96)) * 1024 {
            context.findings.add(.resources, "memory at rest grew from \(base.text) to \(state.text)")
        }
    }

    private func watchMemory() {
        Thread.detachNewThread { [options, context, peak] in
            var isReported = false
            while true {
                usleep(250_000)
                let resident = ProcessState.current().resident
                peak.withLock { $0 = max($0, resident) }
                if resident > options.memory * 1024, !isReported {
                    isReported = true
                    context.findings.add(
                        .resources, "\(resident / 1024) MiB are in use, of \(options.memory) that may be")
                }
            }
        }
    }

    // MARK: The report

    private var seconds: Int { (now() - start) / 1000 }

    private var progress: String {
        let counters = context.counters.withLock { $0 }
        let rate = counters.requests / max(1, seconds)
        return "\(counters.lives) lives, \(counters.rounds) rounds, \(counters.requests) requests (\(rate)/s), "
            + "slowest control \(counters.slowestControl) ms, latest after its limit \(counters.latest) ms"
    }

    private func summarize() {
        for (outcome, count) in context.findings.table { Output.print("\(count)\t\(outcome)") }
        let failures = context.findings.failures
        let text = failures.isEmpty ? "none" : failures.map { "\($0.key.rawValue) \($0.value)" }.joined(separator: ", ")
        Output.print("seed \(options.seed), \(seconds) s: \(progress)\nfailures: \(text)")
    }
}
