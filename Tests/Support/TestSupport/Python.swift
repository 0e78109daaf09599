public import Foundation

/// Runs programs with the Python of `Tests/run`, which has the packages of `Tests/Support/servers/requirements.txt`.
public enum Python {
    /// The error of a failed program.
    public struct Failure: Error {
        /// The exit code, or minus the number of the signal that ended it.
        public let code: Int32
    }

    /// Runs a program of the folder `Tests/Support` and returns its output.
    ///
    /// - Parameters:
    ///   - program: The program's path within `Tests/Support`.
    ///   - arguments: Its arguments.
    /// - Returns: The standard output of the program.
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
