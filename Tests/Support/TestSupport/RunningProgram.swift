public import Foundation
import Glibc
import Synchronization

/// A program that runs during a test, and can be killed.
public final class RunningProgram: Sendable {
    private let child: Child
    private let isGone = Mutex(false)

    /// Starts a program of this package, with no input and its errors dropped.
    ///
    /// - Parameters:
    ///   - name: The name of its target.
    ///   - arguments: Its arguments, without its name.
    ///   - environment: The additional environment variables.
    ///   - conditions: Commands of a shell that prepare its process, as root in a mount namespace of its own.
    /// - Throws: An error with the number when it cannot be started.
    public init(
        _ name: String, _ arguments: [String], environment: [String: String] = [:], conditions: String? = nil
    ) throws {
        let command = environment.map { "\($0)=\($1)" } + [try Self.path(of: name)] + arguments
        guard let conditions else {
            child = try Child("/usr/bin/env", command)
            return
        }
        let shell = ["bash", "-c", "set -e\n\(conditions)\nexec env \"$@\"", "bash"]
        let namespace = Self.namespaceOptions.map { ["/usr/bin/unshare"] + $0 } ?? []
        child = try Child("/usr/bin/env", namespace + shell + command)
    }

    /// Whether programs can have mount namespaces of their own.
    ///
    /// In a chroot, only root can create them, and only if the root folder is a mount point. Without them, conditions
    /// are commands in the namespace of the tests.
    public static var hasMountNamespaces: Bool { namespaceOptions != nil }

    private static let namespaceOptions: [String]? =
        [["--mount"], ["--map-root-user", "--mount"]].first { options in
            guard let child = try? Child("/usr/bin/unshare", options + ["true"]) else { return false }
            _ = child.output()
            return child.wait() == 0
        }

    /// Ends the program without giving it a chance to do anything about it, if it still runs.
    public func kill() {
        isGone.withLock { isGone in
            if !isGone { _ = Glibc.kill(child.process, SIGKILL) }
        }
    }

    /// Waits for the program's end; called once.
    ///
    /// Cancelling the task, as a time limit does, kills the program.
    ///
    /// - Returns: How it ended.
    public func outcome() async -> Subprocess.Outcome {
        await withTaskCancellationHandler {
            await end()
        } onCancel: {
            kill()
        }
    }

    private func end() async -> Subprocess.Outcome {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                let output = child.output()
                child.waitForEnd()
                // From here on the number may be that of another process.
                let code = isGone.withLock { isGone in
                    isGone = true
                    return child.wait()
                }
                continuation.resume(returning: Subprocess.Outcome(code: code, output: output))
            }
        }
    }

    /// The file of a program, in the directory of the test program.
    static func path(of name: String) throws -> String { try products.appendingPathComponent(name).path }

    /// The folder in which the package was built.
    public static var products: URL {
        get throws {
            let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            let bundle = ([own] + CommandLine.arguments).first { $0.hasSuffix(".xctest") } ?? own
            return URL(fileURLWithPath: bundle).deletingLastPathComponent()
        }
    }
}
