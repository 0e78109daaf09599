import BenchSupport
import Foundation

/// The programs that the benchmark runs, from its own directory or the `PATH`.
enum ChildProcess {
    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - program: Its name.
    ///   - arguments: Its arguments.
    ///   - cores: The cores on which it may run, in the form of `taskset`.
    /// - Returns: The standard output of the program.
    /// - Throws: ``BenchFailure`` if the program cannot be run or fails. Its standard error is passed on.
    @discardableResult
    static func run(_ program: String, _ arguments: [String], on cores: String? = nil) throws -> Data {
        let pipe = Pipe()
        let process = try start(program, arguments, on: cores, output: pipe)
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0, process.terminationReason == .exit else {
            let reason = process.terminationReason == .exit ? "status" : "signal"
            throw BenchFailure(
                "\(program) ended with \(reason) \(process.terminationStatus) (arguments: \(arguments), output: "
                    + "\(String(decoding: output, as: UTF8.self)))")
        }
        return output
    }

    /// Starts a program.
    ///
    /// It is ended when this process ends, however that happens.
    static func start(
        _ program: String, _ arguments: [String], on cores: String? = nil, output: Pipe? = nil
    ) throws -> Process {
        let process = Process()
        process.executableURL = try find("setpriv")
        process.arguments =
            ["--pdeathsig", "TERM"] + (cores.map { ["taskset", "-c", $0] } ?? []) + [try find(program).path] + arguments
        process.standardInput = FileHandle.nullDevice
        if let output { process.standardOutput = output }
        try process.run()
        return process
    }

    private static func find(_ program: String) throws -> URL {
        if program.hasPrefix("/") { return URL(fileURLWithPath: program) }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin"
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let folders = [own] + (path.split(separator: ":") + ["/usr/sbin"]).map { URL(fileURLWithPath: String($0)) }
        let places = folders.map { $0.appending(path: program) }
        guard let place = places.first(where: { FileManager.default.isExecutableFile(atPath: $0.path) }) else {
            throw BenchFailure("\(program) is missing (Debian: apt-get install nginx openssl hyperfine curl valgrind)")
        }
        return place
    }
}
