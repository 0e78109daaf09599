import BenchSupport
import CBenchMeter
import Foundation

/// Compares Bluebonnet with raw libcurl and with `URLSession` on this machine.
///
/// The clients are programs of their own (`BenchLibcurl`, `BenchBluebonnet`, `BenchURLSession`), which SwiftPM builds
/// along with this one; the servers are started here, on loopback, and stopped at the end.
@main
struct BluebonnetBench {
    private static let usage = """
        usage: swift run -c release BluebonnetBench compare [--requests N] [--concurrency C] [--rounds R]
                                                            [--json FILE] [--case NAME]... [--client NAME]...
                                                            [--old DIRECTORY]
               swift run -c release BluebonnetBench count [--concurrency C] [--case NAME]... [--client NAME]...
               swift run -c release BluebonnetBench startup [--runs N] [--json FILE]

        compare  runs every case for every client, interleaved, and prints the medians of the rounds
                 cases: \(BenchmarkCase.all.map(\.name).joined(separator: ", "))
                 clients: \(BenchmarkClient.allCases.map(\.rawValue).joined(separator: ", "))
                 --old also runs the program BenchBluebonnet of another build, in this directory, as the client `old`
        count    counts the instructions of a small request with callgrind, on any machine the same
        startup  measures a program that fetches once and exits against the curl command line, with hyperfine
        """

    // The function is not async, because a process that a thread of the concurrency pool starts inherits the signal
    // mask and cannot be terminated.
    static func main() {
        do {
            var arguments = Array(CommandLine.arguments.dropFirst())
            bench_raise_descriptor_limit()
            switch arguments.isEmpty ? "help" : arguments.removeFirst() {
            case "compare":
                try Comparison(BenchmarkOptions(arguments)).run()
            case "count":
                try Count(BenchmarkOptions(arguments)).run()
            case "startup":
                try Startup(BenchmarkOptions(arguments)).run()
            case "help", "--help", "-h":
                print(usage)
            case let other:
                throw BenchFailure("unknown command \(other)\n\(usage)")
            }
        } catch {
            FileHandle.standardError.write(Data("BluebonnetBench: \(error)\n".utf8))
            exit(1)
        }
    }
}

/// The options of the command line.
struct BenchmarkOptions {
    /// The requests of a round for a fast client; cases and clients that are slow by nature send fewer.
    var requests = 40_000
    /// How many requests are in flight at once, where the case does not say it.
    var concurrency = 64
    /// How often everything is measured.
    var rounds = 9
    /// How often a program is started by `startup`.
    var runs = 30
    /// The directory with the programs of another build, to compare with.
    var old: String?
    /// Where to write the results as JSON.
    var json: String?
    /// The cases to run.
    var cases = BenchmarkCase.all
    /// The clients to run.
    var clients = BenchmarkClient.allCases

    init(_ arguments: [String]) throws {
        var caseNames: [String] = []
        var clientNames: [String] = []
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst() else { throw BenchFailure("\(option) needs a value") }
            func number() throws -> Int {
                guard let number = Int(value), number > 0 else { throw BenchFailure("\(option) needs a number") }
                return number
            }
            switch option {
            case "--requests": requests = try number()
            case "--concurrency": concurrency = try number()
            case "--rounds": rounds = try number()
            case "--runs": runs = try number()
            case "--json": json = value
            case "--old": old = URL(fileURLWithPath: value).path
            case "--case": caseNames.append(value)
            case "--client": clientNames.append(value)
            default: throw BenchFailure("unknown option \(option)")
            }
        }
        if !caseNames.isEmpty {
            cases = try caseNames.map { name in
                guard let found = cases.first(where: { $0.name == name }) else { throw BenchFailure("no case \(name)") }
                return found
            }
        }
        if old == nil {
            clients.removeAll { $0 == .old }
        } else {
            for index in cases.indices where cases[index].clients.contains(.bluebonnet) {
                cases[index].clients.append(.old)
            }
        }
        if !clientNames.isEmpty {
            clients = try clientNames.map { name in
                guard let found = BenchmarkClient(rawValue: name) else { throw BenchFailure("no client \(name)") }
                return found
            }
        }
    }
}
