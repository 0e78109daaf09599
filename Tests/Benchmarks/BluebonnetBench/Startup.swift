import BenchSupport
import Foundation

/// Measures the time of a program that starts, sends one request and exits.
struct Startup {
    private let options: BenchmarkOptions

    init(_ options: BenchmarkOptions) {
        self.options = options
    }

    /// Builds `BenchGetJSON`, with what Swift needs in it and beside it, and measures both against the `curl` command
    /// line with hyperfine.
    ///
    /// - Throws: ``BenchFailure`` when a program is missing or fails.
    func run() throws {
        let linked = try ReleaseBuild.program("BenchGetJSON")
        let contained = try ReleaseBuild.staticProgram("BenchGetJSON")
        let servers = try BenchmarkServers()
        defer { servers.stop() }
        let url = servers.url(.plain, "/small")
        let export = options.json.map { ["--export-json", $0] } ?? []
        let output = try ChildProcess.run(
            "hyperfine",
            ["--shell=none", "--warmup", "3", "--runs", "\(options.runs)"] + export
                + ["-n", "curl", "curl -s \(url)"]
                + ["-n", "GetJSON, linked for a quick start", "\(contained) \(url)"]
                + ["-n", "GetJSON, dynamically", "\(linked) \(url)"])
        print(String(decoding: output, as: UTF8.self))
    }
}
