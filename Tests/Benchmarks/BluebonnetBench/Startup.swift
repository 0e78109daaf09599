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
        let linked = try build([])
        let contained = try build(["--scratch-path", ".build/static"] + quickStart())
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

    /// The options that the README gives for a quick start: what Swift brings is in the program, at a fixed address, so that
    /// the dynamic linker has only the C libraries left to do.
    private func quickStart() throws -> [String] {
        // The linker takes an archive only from a folder that does not have the shared library as well.
        let folder = ".build/archives"
        let archive = try ChildProcess.run("clang", ["-print-file-name=libstdc++.a"])
        try ChildProcess.run("mkdir", ["-p", folder])
        try ChildProcess.run("ln", ["-sf", String(decoding: archive, as: UTF8.self).trimmed, folder])
        return [
            "--static-swift-stdlib", "-Xlinker", "-L\(folder)", "-Xswiftc", "-Xclang-linker", "-Xswiftc",
            "-static-libgcc", "-Xswiftc", "-Xclang-linker", "-Xswiftc", "-no-pie", "-Xlinker", "-s",
        ]
    }

    /// Builds the program, and returns where it is.
    private func build(_ options: [String]) throws -> String {
        try ChildProcess.run("swift", ["build", "-c", "release", "--product", "BenchGetJSON"] + options)
        let folder = try ChildProcess.run("swift", ["build", "-c", "release", "--show-bin-path"] + options)
        return String(decoding: folder, as: UTF8.self).trimmed + "/BenchGetJSON"
    }
}

extension String {
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}
