import Bluebonnet
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Counts the resources of a process, from /proc.
struct ProcessResources: CustomStringConvertible {
    let descriptors: Int
    let threads: Int
    let residentKiB: Int
    /// The address space that is in use.
    let virtualKiB: Int

    static func now() throws -> ProcessResources {
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        let status = try String(decoding: Data(contentsOf: URL(filePath: "/proc/self/status")), as: UTF8.self)
        func number(_ name: String) -> Int {
            let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") } ?? ""
            return Int(line.split(whereSeparator: { !$0.isNumber }).first ?? "") ?? 0
        }
        return ProcessResources(
            descriptors: descriptors, threads: number("Threads"), residentKiB: number("VmRSS"),
            virtualKiB: number("VmSize"))
    }

    var description: String { "\(descriptors) descriptors, \(threads) threads, \(residentKiB) KiB" }
}

/// Growth is measurable only if nothing else runs in the process, so each test has its own process.
@Suite(.timeLimit(.minutes(10))) struct GrowthTests {
    @Test(.measuresMemory) func `100,000 requests leak no descriptor, thread or memory`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let url = try TestServers.nginx.url("/small.json")
            let session = Session()
            try await get(url, count: 10_000, on: session)
            let before = try ProcessResources.now()
            try await get(url, count: 100_000, on: session)
            let after = try ProcessResources.now()
            print("before 100,000 requests: \(before); after: \(after)")
            #expect(after.descriptors <= before.descriptors)
            #expect(after.threads <= before.threads + 2)
            #expect(after.residentKiB <= before.residentKiB + 4096)
            await session.shutdown()
            let closed = try ProcessResources.now()
            #expect(closed.descriptors < before.descriptors)
        }
        report(result)
    }

    @Test(.measuresMemory) func `1,000 sessions leak no descriptor, thread or memory`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let url = try TestServers.nginx.url("/small.json")
            func open(_ count: Int) async throws {
                for _ in 0..<count {
                    let session = Session()
                    try await get(url, count: 2, on: session)
                    await session.shutdown()
                }
            }
            try await open(100)
            let before = try ProcessResources.now()
            try await open(1000)
            let after = try ProcessResources.now()
            print("before 1,000 sessions: \(before); after: \(after)")
            #expect(after.descriptors <= before.descriptors + 4)
            #expect(after.threads <= before.threads + 2)
            #expect(after.residentKiB <= before.residentKiB + 4096)
        }
        report(result)
    }

    /// Shows the figures that the process printed.
    private func report(_ result: ExitTest.Result?) {
        let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        for line in output.split(separator: "\n") where line.contains("before ") { print(line) }
    }
}

/// Sends requests, up to 50 at a time, and checks each response.
private func get(_ url: URL, count: Int, on session: Session) async throws {
    try await withThrowingTaskGroup(of: Void.self) { tasks in
        for _ in 0..<min(count, 50) {
            tasks.addTask {
                for _ in 0..<max(1, count / 50) {
                    let data = try await session.request(url).serializingData().value
                    #expect(!data.isEmpty)
                }
            }
        }
        try await tasks.waitForAll()
    }
}
