import Foundation
import Glibc

/// Changes how many descriptors the process may have; for exit tests.
struct DescriptorLimit {
    private let original: rlimit

    init() {
        var limit = rlimit()
        // Safety: the pointer to a local variable is used only during the call.
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        original = limit
    }

    /// Allows that many more than are open; those that are not in a row count as open.
    func allow(_ more: Int) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        // The listing itself had one.
        let open = Set(names.compactMap(Int.init))
        var next = 0
        var free = 0
        while free < more {
            if !open.contains(next) { free += 1 }
            next += 1
        }
        set(next)
    }

    func restore() {
        set(Int(original.rlim_cur))
    }

    private func set(_ count: Int) {
        var limit = original
        limit.rlim_cur = rlim_t(count)
        // Safety: as above.
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
