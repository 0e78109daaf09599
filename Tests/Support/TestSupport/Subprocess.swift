public import Foundation
import Glibc

/// Runs a program and collects its output, for tests of features for other programs.
///
/// Foundation's `Process` is not used: it crashes now and then when several are started at once.
public enum Subprocess {
    /// How a program ended.
    public struct Outcome: Sendable {
        /// The exit code, or minus the number of the signal that ended it.
        public let code: Int32
        /// The standard output of the process.
        public let output: Data
    }

    /// Runs a program to its end, with no input and its errors dropped.
    ///
    /// - Parameters:
    ///   - path: The program's file.
    ///   - arguments: Its arguments, without its name.
    /// - Returns: How it ended.
    /// - Throws: An error with the number when it cannot be started.
    public static func run(_ path: String, _ arguments: [String]) async throws -> Outcome {
        // A thread of its own: the pool's must not block.
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try runBlocking(path, arguments) })
            }
        }
    }

    private static func runBlocking(_ path: String, _ arguments: [String]) throws -> Outcome {
        // A program of the system, such as `curl`, uses the system's libcurl, whichever the tests use.
        let child = try Child("/usr/bin/env", ["--unset=LD_LIBRARY_PATH", path] + arguments)
        let output = child.output()
        return Outcome(code: child.wait(), output: output)
    }
}

/// A started process and its output.
struct Child: Sendable {
    let process: pid_t
    private let pipeEnd: Int32

    init(_ path: String, _ arguments: [String]) throws {
        var ends: [Int32] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var words: [UnsafeMutablePointer<CChar>?] = unsafe []
        for word in [path] + arguments { unsafe words.append(unsafe strdup(word)) }
        unsafe words.append(nil)
        defer { unsafe words.forEach { unsafe free($0) } }
        var child: pid_t = 0
        let code = unsafe posix_spawn(&child, path, &actions, nil, words, environ)
        close(ends[1])
        guard code == 0 else {
            close(ends[0])
            throw POSIXError(POSIXErrorCode(rawValue: code) ?? .ENOENT)
        }
        (process, pipeEnd) = (child, ends[0])
    }

    /// Returns the output until the end of the process; must be called once.
    func output() -> Data {
        defer { close(pipeEnd) }
        return Self.readAll(from: pipeEnd)
    }

    /// Calls with each line that it prints until its end; called once, instead of ``output()``.
    func lines(_ handler: (String) -> Void) {
        defer { close(pipeEnd) }
        var rest: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe read(pipeEnd, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest += buffer[..<count]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                handler(String(decoding: rest[..<end], as: UTF8.self))
                rest.removeFirst(end + 1)
            }
        }
    }

    /// Waits until the process has ended, and leaves its number in use.
    func waitForEnd() {
        var info = unsafe siginfo_t()
        while unsafe waitid(P_PID, id_t(process), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    }

    /// Waits for the process, whose number may be another's afterwards.
    func wait() -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status & 0x7f == 0 ? (status >> 8) & 0xff : -(status & 0x7f)
    }

    private static func readAll(from descriptor: Int32) -> Data {
        var output = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return output }
            output.append(contentsOf: buffer[..<count])
        }
    }
}
