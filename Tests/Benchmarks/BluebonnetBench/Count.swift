import BenchSupport
import Foundation

/// Counts the instructions of a request with callgrind, which does not depend on the load of the machine.
struct Count {
    /// Enough requests that the start of the program and its first connections cancel out.
    private static let requests = (fewer: 1000, more: 4000)

    private let options: BenchmarkOptions

    init(_ options: BenchmarkOptions) {
        self.options = options
    }

    /// Runs each client with two numbers of requests, and prints the difference for one request.
    ///
    /// Only cases of small requests are counted, and only clients that valgrind can run.
    ///
    /// - Throws: ``BenchFailure`` when a program is missing or fails.
    func run() throws {
        let servers = try BenchmarkServers()
        defer { servers.stop() }
        for benchmark in options.cases
        where [.requests, .socketEcho].contains(benchmark.workload) && benchmark.requests == nil {
            for client in options.clients where benchmark.clients.contains(client) && client != .urlsession {
                let program = try ReleaseBuild.staticProgram(client.program)
                let concurrency = benchmark.concurrency ?? options.concurrency
                func instructions(of requests: Int) throws -> Int {
                    // The warm-up is the same in both runs.
                    let arguments =
                        servers.arguments(client, benchmark, requests, concurrency: concurrency) + ["warmup=200"]
                    return try callgrind(program, arguments)
                }
                let (fewer, more) = Self.requests
                let perRequest = try (instructions(of: more) - instructions(of: fewer)) / (more - fewer)
                print("\(benchmark.name), \(client.rawValue): \(perRequest) instructions per request")
            }
        }
    }

    private func callgrind(_ program: String, _ arguments: [String]) throws -> Int {
        let log = FileManager.default.temporaryDirectory.appending(path: "callgrind-\(UUID().uuidString).log")
        defer { try? FileManager.default.removeItem(at: log) }
        let options = ["--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-file=\(log.path)"]
        try ChildProcess.run("valgrind", options + [program] + arguments)
        let text = try String(contentsOf: log, encoding: .utf8)
        guard let count = text.firstMatch(of: /Collected : (\d+)/)?.1, let number = Int(count) else {
            throw BenchFailure("valgrind counted nothing: \(text)")
        }
        return number
    }
}
