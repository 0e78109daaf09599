import Bluebonnet
import Foundation
import Glibc

/// What must hold, whatever the peer does.
enum Oracle: String, CaseIterable, Sendable {
    /// A request was not answered within its limits and the slack.
    case hang
    /// A request was answered, but later than its limits say.
    case late
    /// Bytes of another exchange are in an answer.
    case foreign
    /// A correct answer was not accepted as such, or its bytes differ.
    case wrong
    /// An incomplete answer was accepted as complete.
    case truncated
    /// A request was sent twice that may have been processed, or its body is not the one that was given.
    case repeated
    /// A request to a peer that behaves was not answered rightly.
    case control
    /// A secret went to another host.
    case secret
    /// What the server did is called an internal error.
    case `internal`
    /// A limit of the session does not hold.
    case limit
    /// The process holds more memory, descriptors or threads than it may.
    case resources
}

/// Counts what was found, and prints it.
final class Findings: Sendable {
    private let counts = Locked<[Oracle: Int]>([:])
    private let outcomes = Locked<[String: Int]>([:])
    private let shown = 30

    func add(_ oracle: Oracle, _ text: String) {
        let (number, all) = counts.withLock { counts in
            counts[oracle, default: 0] += 1
            return (counts[oracle] ?? 0, counts.values.reduce(0, +))
        }
        guard number <= 5 || all <= shown else { return }
        Output.print("FAILURE \(oracle.rawValue) #\(number): \(text)")
    }

    func count(_ outcome: String) { outcomes.withLock { $0[outcome, default: 0] += 1 } }

    var failures: [Oracle: Int] { counts.withLock { $0 } }

    var table: [(String, Int)] { outcomes.withLock { $0 }.sorted { $0.value > $1.value } }
}

/// Adds to the findings where they were made.
struct Reporter: Sendable {
    let findings: Findings
    /// What reproduces it.
    let place: String

    func failure(_ oracle: Oracle, _ text: String, scripts: [Script] = []) {
        let details = scripts.suffix(4).map { $0.text() }.joined()
        findings.add(oracle, "--round \(place): \(text)\n\(details)")
    }
}

/// Standard output, a whole line at a time and at once.
enum Output {
    private static let lock = Locked(())

    static func print(_ text: String) {
        lock.withLock { _ in FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
    }
}
