import BenchSupport
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
        /// The bytes or lines of bodies that were moved, if that is what the case is about.
        let bytesPerSecond: Double?
        let linesPerSecond: Double?
        /// The CPU time of the round.
        let cpuSeconds: Double
        let yardstick: BenchmarkClient
        /// Round by round: requests per second, and CPU microseconds per request.
        let rates: [Double]
        let cpuTimes: [Double]
    }

    private var rows: [Row] = []

    /// Adds the rounds of a client in a case.
    mutating func add(
        _ benchmark: BenchmarkCase, _ client: BenchmarkClient, _ concurrency: Int, _ samples: [Sample]
    ) {
        func median(_ value: (Sample) -> Double) -> Double { Self.median(samples.map(value)) }
        func perSecond(_ workloads: Workload...) -> Double? {
            guard workloads.contains(benchmark.workload) else { return nil }
            return median { Double($0.requests * benchmark.length) / $0.seconds }
        }
        rows.append(
            Row(
                case: benchmark.name, client: client, concurrency: concurrency,
                rps: median { Double($0.requests) / $0.seconds },
                cpuMicrosecondsPerRequest: median { $0.cpuSeconds / Double($0.requests) * 1e6 },
                peakKiB: median { Double($0.peakKiB) },
                kibPerRequestInFlight: median { Double($0.peakKiB - $0.startKiB) / Double(concurrency) },
                connections: median { Double($0.connections) },
                bytesPerSecond: perSecond(
                    .downloadChunks, .downloadFile, .uploadFile, .uploadSequence, .socketSend, .socketReceive),
                linesPerSecond: perSecond(.lines), cpuSeconds: median { $0.cpuSeconds },
                yardstick: benchmark.yardstick, rates: samples.map { Double($0.requests) / $0.seconds },
                cpuTimes: samples.map { $0.cpuSeconds / Double($0.requests) * 1e6 }))
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        return (sorted[sorted.count / 2] + sorted[(sorted.count - 1) / 2]) / 2
    }

    /// The tables for people.
    ///
    /// Ratios are the medians of the rounds' ratios: the machine may not be as fast in the next round as in the last.
    var table: String {
        let isBody = { (row: Row) in row.bytesPerSecond != nil || row.linesPerSecond != nil }
        return [requestTable(rows.filter { !isBody($0) }), bodyTable(rows.filter(isBody))]
            .filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    private func requestTable(_ rows: [Row]) -> String {
        guard !rows.isEmpty else { return "" }
        var lines = [
            line(
                "case", "client", "in flight", "CPU µs/req", "ratio", "spread", "requests/s", "ratio", "peak KiB",
                "KiB/req", "conns")
        ]
        for row in rows {
            lines.append(
                line(
                    row.case, row.client.rawValue, "\(row.concurrency)",
                    String(format: "%.1f", row.cpuMicrosecondsPerRequest), ratio(row, \.cpuTimes),
                    spread(row, \.cpuTimes), String(format: "%.0f", row.rps), ratio(row, \.rates),
                    String(format: "%.0f", row.peakKiB),
                    row.concurrency < 1000 ? "" : String(format: "%.1f", row.kibPerRequestInFlight),
                    row.connections == 0 ? "" : String(format: "%.0f", row.connections)))
        }
        return lines.joined(separator: "\n")
            + "\n\nratio: to libcurl; spread: the ratios of the rounds. KiB/req: memory added by each request in flight."
    }

    private func bodyTable(_ rows: [Row]) -> String {
        guard !rows.isEmpty else { return "" }
        var lines = [line("case", "client", "", "CPU s", "ratio", "spread", "speed", "ratio", "peak MiB", "to curl")]
        for row in rows {
            let speed =
                row.bytesPerSecond.map { String(format: "%.2f GB/s", $0 / 1e9) }
                ?? row.linesPerSecond.map { String(format: "%.0f l/s", $0) } ?? ""
            lines.append(
                line(
                    row.case, row.client.rawValue, "", String(format: "%.3f", row.cpuSeconds),
                    ratio(row, \.cpuTimes), spread(row, \.cpuTimes), speed, ratio(row, \.rates),
                    String(format: "%.1f", row.peakKiB / 1024), ratio(row, \.rates, to: .curl)))
        }
        return lines.joined(separator: "\n")
            + "\n\nspeed: bytes or lines a second. ratio: to libcurl, for lines to those in memory; spread: the "
            + "ratios of the rounds."
    }

    /// A row's value by that of the same case with another client; nothing if there is no such row.
    private func ratio(_ row: Row, _ values: (Row) -> [Double], to client: BenchmarkClient? = nil) -> String {
        let ratios = ratios(row, values, to: client)
        return ratios.isEmpty ? "" : String(format: "%.2f", Self.median(ratios))
    }

    /// The least and the greatest of the rounds' ratios.
    private func spread(_ row: Row, _ values: (Row) -> [Double]) -> String {
        guard row.client != row.yardstick, let least = ratios(row, values).min(), let most = ratios(row, values).max()
        else { return "" }
        return String(format: "%.2f-%.2f", least, most)
    }

    private func ratios(_ row: Row, _ values: (Row) -> [Double], to client: BenchmarkClient? = nil) -> [Double] {
        guard let other = rows.first(where: { $0.case == row.case && $0.client == client ?? row.yardstick }) else {
            return []
        }
        return zip(values(row), values(other)).map { $0 / $1 }
    }

    /// The rows as a JSON array.
    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return try encoder.encode(rows)
    }

    private func line(_ cells: String...) -> String {
        let widths = [26, 16, 10, 11, 7, 13, 13, 7, 10, 9, 6]
        return zip(cells, widths).enumerated().map { index, cell in
            let padding = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
            return index < 2 ? cell.0 + padding : padding + cell.0
        }.joined()
    }
}
