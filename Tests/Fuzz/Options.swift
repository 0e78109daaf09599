import Foundation

/// The command line.
struct Options: Sendable {
    var seed = UInt64.random(in: 0...UInt64(UInt32.max))
    /// How long to run.
    var minutes = 1.0
    /// How many requests to make instead.
    var requests: Int?
    /// A life, or one round of it, to be run again.
    var repeated: (life: UInt64, round: Int?)?
    /// How often it is run again.
    var times = 1
    var lanes = 8
    /// Flat memory, descriptors and threads are what matters.
    var isSoak = false
    /// A request that hangs does not end the process.
    var continuesAfterFailure = false
    /// Prints every script that the peer runs.
    var isVerbose = false
    var families = Families()
    /// Where it is written down which rounds are under way.
    var journal: String?
    /// The folder with the peer's certificate, as `certificate.pem` and `key.pem`.
    var certificates: String?
    /// Milliseconds by which everything may be late on a machine that has other things to do.
    var slack = 6000
    /// MiB that the process may hold.
    var memory = 700
    /// MiB by which it may hold more when nothing is under way than when it was warm.
    var growth: Int?

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        func value(_ name: String) throws -> String {
            guard let value = rest.popFirst() else { throw Misuse("\(name) needs a value") }
            return value
        }
        func number<Number: LosslessStringConvertible>(_ name: String) throws -> Number {
            guard let number = Number(try value(name)) else { throw Misuse("\(name) needs a number") }
            return number
        }
        while let argument = rest.popFirst() {
            switch argument {
            case "--seed": seed = try number(argument)
            case "--minutes": minutes = try number(argument)
            case "--requests": requests = try number(argument)
            case "--lanes": lanes = try number(argument)
            case "--times": times = try number(argument)
            case "--slack": slack = try number(argument)
            case "--growth": growth = try number(argument)
            case "--memory": memory = try number(argument)
            case "--soak": isSoak = true
            case "--go-on": continuesAfterFailure = true
            case "--verbose": isVerbose = true
            case "--without": try families.remove(value(argument))
            case "--only": try families.keepOnly(value(argument))
            case "--journal": journal = try value(argument)
            case "--certificates": certificates = try value(argument)
            case "--round": repeated = try Self.round(value(argument))
            default: throw Misuse("what is \(argument)?")
            }
        }
    }

    /// `life` or `life.round`, as failures name them.
    private static func round(_ text: String) throws -> (UInt64, Int?) {
        let parts = text.split(separator: ".")
        guard let first = parts.first, let life = UInt64(first, radix: 16) else {
            throw Misuse("\(text) is not a round")
        }
        return (life, parts.count > 1 ? Int(parts[1]) : nil)
    }
}
