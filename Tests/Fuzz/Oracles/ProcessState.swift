import Foundation
import Glibc

/// What the process holds.
struct ProcessState: Sendable {
    var descriptors: Int
    var threads: Int
    /// KiB of its own: pages of programs and libraries come in as their code is used, and can go again.
    var resident: Int

    static func current() -> ProcessState {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        func number(_ name: String) -> Int {
            guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix(name + ":") }) else { return 0 }
            return Int(line.filter(\.isNumber)) ?? 0
        }
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count ?? 0
        return ProcessState(descriptors: descriptors, threads: number("Threads"), resident: number("RssAnon"))
    }

    // Safety: malloc_trim(3) has this signature; Glibc's module hides it.
    private static let trim = unsafe dlsym(nil, "malloc_trim").map {
        unsafe unsafeBitCast($0, to: (@convention(c) (Int) -> Int32).self)
    }

    /// The same, when the allocator has given back what it keeps.
    static func settled() -> ProcessState {
        _ = trim?(0)
        return current()
    }

    var text: String { "\(resident / 1024) MiB, \(descriptors) descriptors, \(threads) threads" }

    /// The names of all threads and where they wait.
    static func threads() -> String {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.sorted().map { task in
            func text(_ name: String) -> String {
                ((try? String(contentsOfFile: "/proc/self/task/\(task)/\(name)", encoding: .utf8)) ?? "")
                    .trimmingCharacters(in: .whitespacesAndNewlines)
            }
            return "thread \(task) \(text("comm")) \(text("wchan"))"
        }.joined(separator: "\n")
    }
}
