import Bluebonnet
import COpenSSL
import FoundationEssentials
import Glibc
import Synchronization

/// Ends at a random moment, in one of several ways: `ExitProgram URL CAFILE SEED [first] [late] WAY`.
///
/// A WAY is `return`, `exit` (on another thread), `loop` (on the loop's own thread, by a trust evaluator that calls
/// `exit`), all with transfers under way, or `done`: when the requests have all succeeded. `first` initialises OpenSSL
/// before Bluebonnet does, as a database driver may; `late` has the process end some time after OpenSSL was cleaned up.
/// The exit code is 0, 3 if a request has failed that should not, or 4 if no evaluator was asked.
@main
enum ExitProgram {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 4, let seed = UInt64(arguments[3]) else { exit(2) }
        let words = Set(arguments[4...])
        var random = Generator(state: seed)
        // Called after OpenSSL's own function, since registered before it.
        if words.contains("late") { atexit(waitAWhile) }
        if words.contains("first") { _ = OPENSSL_init_ssl(0, nil) }
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.tls.caFile = arguments[2]
        configuration.tls.maximumVersion = Bool.random(using: &random) ? .v1_2 : nil
        // With HTTP/2 there is one connection, and one handshake.
        let isOld = Bool.random(using: &random) || words.contains("loop")
        configuration.httpVersion = isOld ? .http1_1 : .automatic
        let url = arguments[1]
        guard !words.contains("done") else {
            return try await finish(Session(configuration: configuration), url, &random)
        }
        let countdown = Atomic(words.contains("loop") ? Int.random(in: 1...12, using: &random) : .max)
        let evaluator = ClosureTrustEvaluator { _, _ in
            if countdown.subtract(1, ordering: .relaxed).newValue == 0 { exit(0) }
        }
        let manager = words.contains("loop") ? ServerTrustManager { _ in evaluator } : nil
        let session = Session(configuration: configuration, serverTrustManager: manager)
        for _ in 1...Int.random(in: 1...8, using: &random) {
            Task.detached {
                // Each request has its own connection, so that there are always handshakes.
                while true {
                    let request = session.request(url, headers: ["Connection": "close"])
                    _ = await request.serializingData().response
                }
            }
        }
        if words.contains("loop") {
            sleep(20)
            exit(4)
        }
        usleep(UInt32.random(in: 0...60_000, using: &random))
        guard words.contains("exit") else { return }
        Thread.run { exit(0) }
    }

    /// Sends requests, one after the other or all at once, and returns some time after they have ended.
    private static func finish(_ session: Session, _ url: String, _ random: inout Generator) async throws {
        let count = Int.random(in: 1...6, using: &random)
        let responses = await withTaskGroup(of: Bool.self) { group in
            for _ in 1...count {
                group.addTask { await session.request(url).serializingData().response.error == nil }
            }
            return await group.reduce(true) { $0 && $1 }
        }
        guard responses else { exit(3) }
        if Bool.random(using: &random) { await session.shutdown() }
        usleep(UInt32.random(in: 0...3000, using: &random))
    }
}

private func waitAWhile() { usleep(30_000) }

/// Runs a closure on its own thread, and never returns.
private enum Thread {
    static func run(_ body: @escaping @Sendable () -> Never) -> Never {
        Task.detached { body() }
        while true { pause() }
    }
}

/// Random numbers that are the same again for the same seed (SplitMix64).
private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
