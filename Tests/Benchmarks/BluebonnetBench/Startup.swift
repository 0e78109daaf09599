import BenchSupport
import Foundation

/// Measures how long a program takes that starts, fetches once and exits.
struct Startup {
    private let options: BenchmarkOptions

    init(_ options: BenchmarkOptions) {
        self.options = options
    }

    /// Builds the snippet `GetJSON`, with Swift's libraries in it and beside it, and measures both against the `curl`
    /// command line with hyperfine.
    ///
    /// - Throws: ``BenchFailure`` when a program is missing or fails.
    func run() throws {
        let linked = try build([])
        let contained = try build(["--static-swift-stdlib", "--scratch-path", ".build/static"])
        let servers = try BenchmarkServers()
        defer { servers.stop() }
        let url = servers.url(.plain, "/small")
        let export = options.json.map { ["--export-json", $0] } ?? []
        let output = try ChildProcess.run(
            "hyperfine",
            ["--shell=none", "--warmup", "3", "--runs", "\(options.runs)"] + export
                + ["-n", "curl", "curl -s \(url)"]
                + ["-n", "GetJSON, Swift's libraries linked statically", "\(contained) \(url)"]
                + ["-n", "GetJSON, dynamically", "\(linked) \(url)"])
        print(String(decoding: output, as: UTF8.self))
    }

    /// Builds the program, and returns where it is.
    private func build(_ options: [String]) throws -> String {
        try ChildProcess.run("swift", ["build", "-c", "release", "--product", "GetJSON"] + options)
        let folder = try ChildProcess.run("swift", ["build", "-c", "release", "--show-bin-path"] + options)
        return String(decoding: folder, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines) + "/GetJSON"
    }
}
