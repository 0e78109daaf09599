public import Foundation

/// Runs programs with the Python that `Tests/run` has set up, which has what `Tests/Support/servers/requirements.txt` says.
public enum Python {
    /// Tells that a program did not end well.
    public struct Failure: Error {
        /// The exit code, or minus the number of the signal that ended it.
        public let code: Int32
    }

    /// Runs a program of the folder `Tests/Support` and returns what it prints.
    ///
    /// - Parameters:
    ///   - program: The program's path within `Tests/Support`.
    ///   - arguments: Its arguments.
    /// - Returns: What it wrote to standard output.
    /// - Throws: ``TestServers/NotStarted`` when the tests were not started by `Tests/run`, ``Failure`` when the program
    ///   ends with another code than 0.
    public static func run(_ program: String, _ arguments: [String]) async throws -> Data {
        let support = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let path = support.appending(path: program).path(percentEncoded: false)
        let outcome = try await Subprocess.run(try TestServers.variable("BLUEBONNET_PYTHON"), [path] + arguments)
        guard outcome.code == 0 else { throw Failure(code: outcome.code) }
        return outcome.output
    }
}
