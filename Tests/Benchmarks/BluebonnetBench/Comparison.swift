import BenchSupport
import Foundation

/// Runs the cases for the clients, interleaved, and reports the medians.
struct Comparison {
    private let options: BenchmarkOptions

    init(_ options: BenchmarkOptions) {
        self.options = options
    }

    /// Measures, prints the table, and writes the JSON file if its path is given.
    ///
    /// - Throws: ``BenchFailure`` when a client fails or gets a wrong response.
    func run() throws {
        let servers = try BenchmarkServers()
        defer { servers.stop() }
        var report = BenchmarkReport()
        // The results so far are printed even if a later case fails.
        defer { print(report.table) }
        let lastCore = ProcessInfo.processInfo.processorCount - 1
        for benchmark in options.cases {
            try servers.files.prepare(for: benchmark.workload)
            try servers.keepNginx(on: benchmark.isPinned ? "\(lastCore)" : "0-\(lastCore)")
            let clients = options.clients.filter { benchmark.clients.contains($0) }
            var samples: [BenchmarkClient: [Sample]] = [:]
            for round in 0..<options.rounds {
                // Every round starts with another client, so that the order of the clients varies.
                for index in clients.indices {
                    let client = clients[(index + round) % clients.count]
                    progress("\(benchmark.name): round \(round + 1) of \(options.rounds), \(client.rawValue)")
                    samples[client, default: []].append(try measure(client, benchmark, servers))
                }
            }
            progress("")
            for client in clients {
                report.add(benchmark, client, concurrency(benchmark), samples[client, default: []])
            }
        }
        if let json = options.json { try report.encoded().write(to: URL(fileURLWithPath: json)) }
    }

    private func measure(
        _ client: BenchmarkClient, _ benchmark: BenchmarkCase, _ servers: BenchmarkServers
    ) throws -> Sample {
        let pinning = benchmark.isPinned ? "0" : nil
        let url = servers.url(benchmark.origin, benchmark.path)
        if client == .curl {
            defer { servers.files.removeWritten() }
            let command = servers.files.command(for: benchmark, url)
            return try Sample(ChildProcess.run(client.program, command, on: pinning))
        }
        let requests = benchmark.requests ?? options.requests / benchmark.divisor / client.divisor
        let arguments = servers.arguments(client, benchmark, requests, concurrency: concurrency(benchmark))
        let before = servers.acceptedConnections
        defer { servers.files.removeWritten() }
        let program = client == .old ? "\(options.old ?? "")/\(client.program)" : client.program
        let output = try ChildProcess.run(program, arguments, on: pinning)
        var sample = try Sample(output)
        sample.connections = servers.acceptedConnections - before - 1
        if let limit = benchmark.maximumConnections, sample.connections > limit {
            throw BenchFailure("\(client.program) used \(sample.connections) connections in \(benchmark.name)")
        }
        return sample
    }

    private func concurrency(_ benchmark: BenchmarkCase) -> Int {
        benchmark.concurrency ?? options.concurrency
    }

    private func progress(_ text: String) {
        guard isatty(2) == 1 else { return }
        FileHandle.standardError.write(Data("\u{1B}[2K\r\(text)".utf8))
    }
}

extension BenchmarkServers {
    /// The arguments of a client for a number of requests.
    func arguments(
        _ client: BenchmarkClient, _ benchmark: BenchmarkCase, _ requests: Int, concurrency: Int
    ) -> [String] {
        let warmup = max(requests / 10, 4 * min(concurrency, 64))
        return [
            "url=\(url(benchmark.origin, benchmark.path))",
            "warmup-url=\(url(benchmark.origin, benchmark.warmupPath))",
            "requests=\(max(requests, concurrency))", "concurrency=\(concurrency)",
            "warmup=\(benchmark.warmup ?? warmup)", "warmup-concurrency=\(min(concurrency, 64))",
            "length=\(benchmark.length)", "ca-file=\(certificate.path)",
        ] + benchmark.arguments + client.arguments + files.arguments(for: benchmark, client)
    }
}

/// A client's measurements of itself in a round.
struct Sample: Decodable {
    private enum CodingKeys: CodingKey {
        case requests, seconds, cpuSeconds, startKiB, peakKiB
    }

    let requests: Int
    let seconds: Double
    let cpuSeconds: Double
    /// The resident memory after the warm-up.
    let startKiB: Int
    /// The most resident memory of its whole life.
    let peakKiB: Int
    /// The number of connections to nginx, including the warm-up.
    var connections = 0

    /// Reads the output of a client.
    init(_ output: Data) throws {
        self = try JSONDecoder().decode(Sample.self, from: output)
    }
}
