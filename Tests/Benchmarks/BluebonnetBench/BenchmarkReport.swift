import Foundation

/// The medians of all cases and clients.
struct BenchmarkReport {
    /// The medians of one client in one case; the names are those of the JSON file.
    private struct Row: Encodable {
        let `case`: String
        let client: BenchmarkClient
        let concurrency: Int
        let rps: Double
        let cpuMicrosecondsPerRequest: Double
        let peakKiB: Double
        /// How much memory the requests took, by what they added to the memory after the warm-up.
        let kibPerRequestInFlight: Double
        let connections: Double
    }

    private var rows: [Row] = []

    /// Adds the rounds of a client in a case.
    mutating func add(
        _ benchmark: BenchmarkCase, _ client: BenchmarkClient, _ concurrency: Int, _ samples: [Sample]
    ) {
        func median(_ value: (Sample) -> Double) -> Double {
            let sorted = samples.map(value).sorted()
            return (sorted[sorted.count / 2] + sorted[(sorted.count - 1) / 2]) / 2
        }
        rows.append(
            Row(
                case: benchmark.name, client: client, concurrency: concurrency,
                rps: median { Double($0.requests) / $0.seconds },
                cpuMicrosecondsPerRequest: median { $0.cpuSeconds / Double($0.requests) * 1e6 },
                peakKiB: median { Double($0.peakKiB) },
                kibPerRequestInFlight: median { Double($0.peakKiB - $0.startKiB) / Double(concurrency) },
                connections: median { Double($0.connections) }))
    }

    /// The table for people.
    ///
    /// Ratios are those of the medians.
    var table: String {
        var lines = [
            line(
                "case", "client", "in flight", "requests/s", "ratio", "CPU µs/req", "ratio", "peak KiB", "KiB/req",
                "conns")
        ]
        for row in rows {
            let yardstick = rows.first { $0.case == row.case && $0.client == .libcurl }
            lines.append(
                line(
                    row.case, row.client.rawValue, "\(row.concurrency)", String(format: "%.0f", row.rps),
                    yardstick.map { String(format: "%.2f", row.rps / $0.rps) } ?? "",
                    String(format: "%.1f", row.cpuMicrosecondsPerRequest),
                    yardstick.map {
                        String(format: "%.2f", row.cpuMicrosecondsPerRequest / $0.cpuMicrosecondsPerRequest)
                    } ?? "",
                    String(format: "%.0f", row.peakKiB),
                    row.concurrency < 1000 ? "" : String(format: "%.1f", row.kibPerRequestInFlight),
                    row.connections == 0 ? "" : String(format: "%.0f", row.connections)))
        }
        return lines.joined(separator: "\n") + "\n\nratio: to libcurl. KiB/req: memory added by each request in flight."
    }

    /// The rows as a JSON array.
    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return try encoder.encode(rows)
    }

    private func line(_ cells: String...) -> String {
        let widths = [26, 11, 10, 11, 6, 11, 6, 10, 8, 6]
        return zip(cells, widths).enumerated().map { index, cell in
            let padding = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
            return index < 2 ? cell.0 + padding : padding + cell.0
        }.joined()
    }
}
