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
        let outcome = try await Subprocess.run(
            try TestServers.variable("BLUEBONNET_PYTHON"), [path(of: program)] + arguments)
        guard outcome.code == 0 else { throw Failure(code: outcome.code) }
        return outcome.output
    }

    /// Starts a program of the folder `Tests/Support`, whose lines are read while it runs.
    ///
    /// - Parameters:
    ///   - program: The program's path within `Tests/Support`.
    ///   - arguments: Its arguments.
    /// - Returns: The running program, which the caller ends.
    /// - Throws: ``TestServers/NotStarted`` when the tests were not started by `Tests/run`, or an error when the program
    ///   cannot be started.
    public static func start(_ program: String, _ arguments: [String]) throws -> LineOutputProgram {
        try LineOutputProgram(command: [try TestServers.variable("BLUEBONNET_PYTHON"), path(of: program)] + arguments)
    }

    /// Returns the path of a file of the folder `Tests/Support`.
    ///
    /// - Parameter file: The file's path within `Tests/Support`.
    /// - Returns: The absolute path.
    public static func path(of file: String) -> String {
        let support = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return support.appending(path: file).path(percentEncoded: false)
    }
}
