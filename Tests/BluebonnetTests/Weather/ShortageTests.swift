import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// What the system does not have, and what errors say of it.
@Suite(.timeLimit(.minutes(1))) struct ShortageTests {
    @Test func `out of descriptors, the error says so, and the session works again later`() async {
        await #expect(processExitsWith: .success) {
            let (first, second) = (
                try await LocalServer { $0.get("/", .text("right")) },
                try await LocalServer { $0.get("/", .text("right")) }
            )
            let session = Weather.session()
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
}
