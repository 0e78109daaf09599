import BluebonnetTesting
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

/// Shortages of the system's resources, and the errors about them.
@Suite(.timeLimit(.minutes(10))) struct ShortageTests {
    @Test func `without free descriptors, the error has the cause and the session works again later`() async {
        await #expect(processExitsWith: .success) {
            let (first, second) = (
                try await LocalServer { $0.get("/", .text("right")) },
                try await LocalServer { $0.get("/", .text("right")) }
            )
            let session = TestHarness.session()
            let before = try await session.request(first.url("/")).serializingString().value
            precondition(before == "right")
            var limit = rlimit(rlim_cur: 200, rlim_max: 200)
            unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var taken: [Int32] = []
            while true {
                let descriptor = dup(0)
                guard descriptor >= 0 else { break }
                taken.append(descriptor)
            }
            let error = await session.request(second.url("/")).serializingString().response.error
            for descriptor in taken { close(descriptor) }
            precondition(error?.kind == .connection(.failed), "\(String(describing: error))")
            precondition(error?.description.contains("Too many open files") == true, "\(String(describing: error))")
            let after = try await session.request(second.url("/")).serializingString().value
            precondition(after == "right")
        }
    }

    /// Far more exchanges at once than there are descriptors, for connections and for files.
    @Test(
        arguments: ["requests", "downloads", "uploads", "sessions"], [TestServers.nginx, .nginxTLS, .nginxFewStreams])
    func `with few descriptors, hundreds of exchanges wait for each other`(kind: String, server: TestServers)
        async throws
    {
        try await ExitTestInput.pass([kind, server.rawValue]) {
            await #expect(processExitsWith: .success) {
                let words = try ExitTestInput.value(as: [String].self)
                let (kind, name) = (words[0], words[1])
                var limit = rlimit(rlim_cur: 300, rlim_max: 300)
                unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                let url = try TestServers(rawValue: name)!.url(kind == "uploads" ? "/discard" : "/target")
                let directory = try TestDirectory()
                try Data(count: 100_000).write(to: directory.url("body"))
                let (file, folder) = (directory.url("body"), directory.url)
                // Four loops for each of 30 sessions would need all descriptors for themselves.
                let sessions =
                    kind == "sessions"
                    ? try (0..<30).map { _ in try TestHarness.trustingSession { $0.eventLoops = 1 } }
                    : [try TestHarness.trustingSession()]
                let failures = await withTaskGroup(of: RequestError?.self) { group in
                    for number in 0..<(kind == "sessions" ? 900 : 600) {
                        let session = sessions[number % sessions.count]
                        group.addTask {
                            switch kind {
                            case "downloads":
                                await session.download(url, to: .directory(folder)).serializingURL().response.error
                            case "uploads": await session.upload(file, to: url).serializingNothing().response.error
                            default: await session.request(url).serializingNothing().response.error
                            }
                        }
                    }
                    return await group.reduce(into: []) { if let error = $1 { $0.append(error) } }
                }
                let names = directory.names.count
                precondition(failures.isEmpty, "\(failures.count) failed, such as \(failures[0])")
                precondition(names == (kind == "downloads" ? 601 : 1), "\(names) files")
            }
        }
    }

    @Test func `without a thread for the loop, requests fail with a clear error`() async {
        await #expect(processExitsWith: .success) {
            let server = try await LocalServer { $0.get("/", .text("right")) }
            // Libcurl, Swift's pool and this process have what they need from now on.
            let warm = TestHarness.session()
            let before = try await warm.request(server.url("/")).serializingString().value
            precondition(before == "right")
            // Nothing is waited for: Swift's clock has its thread from the first sleep on.
            try await Task.sleep(for: .milliseconds(1))
            let session = TestHarness.session()
            // A thread needs address space for its stack.
            let used = try ProcessResources.now().virtualKiB << 10
            let resource = __rlimit_resource_t(RLIMIT_AS.rawValue)
            var limit = rlimit()
            precondition(unsafe getrlimit(resource, &limit) == 0)
            let previous = limit
            limit.rlim_cur = UInt(used) + (4 << 20)
            precondition(unsafe setrlimit(resource, &limit) == 0)
            let error = await session.request(server.url("/")).serializingString().response.error
            limit = previous
            precondition(unsafe setrlimit(resource, &limit) == 0)
            precondition(error?.kind == .connection(.failed), "\(String(describing: error))")
            precondition(error?.description.contains("no thread") == true, "\(String(describing: error))")
            let after = try await session.request(server.url("/")).serializingString().value
            precondition(after == "right")
        }
    }
}
