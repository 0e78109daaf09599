import FoundationEssentials
import TestSupport
import Testing

/// Programs that end while there is something under way.
///
/// `Tests/exits` does the same thousands of times, with delays. Without ``ExitGate``, four of ten that end late with
/// transfers under way are ended by a signal.
@Suite(.timeLimit(.minutes(10))) struct ExitTests {
    /// The way in which a program ends; see `Tests/Support/ExitProgram`.
    enum ExitMoment: String, CaseIterable, Sendable {
        case `return`, exit, loop, done
    }

    private static let count = Sanitizer.current == nil ? 4 : 1

    @Test(arguments: ExitMoment.allCases, [[], ["first"], ["late"], ["first", "late"]])
    func `no program is ended by a signal`(_ moment: ExitMoment, _ circumstances: [String]) async throws {
        let url = try TestServers.nginxTLS.url("/small.json").absoluteString
        let authority = try TestCertificates().authority
        for seed in 1...Self.count {
            let program = try RunningProgram(
                "ExitProgram", [url, authority, "\(seed)"] + circumstances + [moment.rawValue])
            #expect(await program.outcome().code == 0, "seed \(seed)")
        }
    }
}
