import Foundation
import Glibc
import Synchronization

/// A program that runs in a network namespace during a test, and whose output is read line by line.
public final class LineOutputProgram: Sendable {
    /// The printed lines.
    public let lines: AsyncStream<String>

    private let child: Child
    private let isGone: Mutex<Bool>

    /// Starts a program of this package.
    ///
    /// - Parameters:
    ///   - name: The name of its target.
    ///   - arguments: Its arguments, without its name.
    ///   - namespace: The name of the namespace; `nil` for the tests' own.
    /// - Throws: An error with the number when it cannot be started.
    public convenience init(_ name: String, _ arguments: [String], namespace: String? = nil) throws {
        try self.init(command: [try RunningProgram.path(of: name)] + arguments, namespace: namespace)
    }

    /// Starts any program.
    ///
    /// - Parameters:
    ///   - command: The program and its arguments.
    ///   - namespace: The name of the namespace; `nil` for the tests' own.
    /// - Throws: An error with the number when it cannot be started.
    public init(command: [String], namespace: String? = nil) throws {
        let child = try Child("/usr/bin/env", (namespace.map { ["ip", "netns", "exec", $0] } ?? []) + command)
        let (lines, continuation) = AsyncStream<String>.makeStream()
        (self.child, self.lines) = (child, lines)
        isGone = Mutex(false)
        Thread.detachNewThread { [self] in
            child.lines { continuation.yield($0) }
            child.waitForEnd()
            // From here on the number may be that of another process.
            isGone.withLock { isGone in
                isGone = true
                _ = child.wait()
            }
            continuation.finish()
        }
    }

    /// Sends it a signal, if it still runs.
    ///
    /// - Parameter signal: The signal's number.
    public func send(_ signal: Int32) {
        isGone.withLock { isGone in
            if !isGone { _ = Glibc.kill(child.process, signal) }
        }
    }
}
