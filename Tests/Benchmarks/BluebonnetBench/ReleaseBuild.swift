import Foundation

/// Builds the programs that are measured.
enum ReleaseBuild {
    /// Builds a program in the usual way; returns its path.
    ///
    /// - Throws: ``BenchFailure`` if the build fails.
    static func program(_ name: String) throws -> String { try build(name, []) }

    /// Builds a program as the article "Performance" does for a quick start.
    ///
    /// It contains what Swift brings, at a fixed address, so that
    /// the dynamic linker has only the C libraries left to do. It has no debug information, which valgrind cannot read.
    ///
    /// - Throws: ``BenchFailure`` if the build fails.
    static func staticProgram(_ name: String) throws -> String {
        // The linker takes an archive only from a folder that does not have the shared library as well.
        let folder = ".build/archives"
        let archive = try ChildProcess.run("clang", ["-print-file-name=libstdc++.a"])
        try ChildProcess.run("mkdir", ["-p", folder])
        try ChildProcess.run("ln", ["-sf", String(decoding: archive, as: UTF8.self).trimmed, folder])
        return try build(
            name,
            [
                "--scratch-path", ".build/static", "--static-swift-stdlib", "-Xlinker", "-L\(folder)", "-Xswiftc",
                "-Xclang-linker", "-Xswiftc", "-static-libgcc", "-Xswiftc", "-Xclang-linker", "-Xswiftc", "-no-pie",
                "-Xlinker", "-s",
            ])
    }

    private static func build(_ name: String, _ options: [String]) throws -> String {
        try ChildProcess.run("swift", ["build", "-c", "release", "--product", name] + options)
        let folder = try ChildProcess.run("swift", ["build", "-c", "release", "--show-bin-path"] + options)
        return String(decoding: folder, as: UTF8.self).trimmed + "/" + name
    }
}

extension String {
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}
