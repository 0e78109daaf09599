import BluebonnetTesting
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

/// Names whose lookup hangs.
///
/// Without ``BlockingLookups``, cancelling such a lookup waits for its thread, and so do all requests on the loop.
@Suite(.enabled(if: Libcurl.version >= 0x07_57_00, "libcurl 7.87.0"), .timeLimit(.minutes(10)))
struct HangingLookupTests {
    /// Libcurl from 8.20.0 on would wait for the lookup when the session's multi handle ends.
    ///
    /// For a name without a dot, the system's resolver first reads the file of host aliases. Here, this file is a pipe
    /// for which the resolver waits. The test runs in its own process because of the environment, and because its loop
    /// may hang.
    @Test(arguments: [false, true])
    func `a shutdown during a lookup does not delay other sessions on the loop`(isCancelled: Bool) async throws {
        try await ExitTestInput.pass(isCancelled) {
            await #expect(processExitsWith: .success) {
                let isCancelled = try ExitTestInput.value(as: Bool.self)
                let directory = try TestDirectory()
                let pipe = directory.path("aliases")
                precondition(unsafe mkfifo(pipe, 0o600) == 0 && setenv("HOSTALIASES", pipe, 1) == 0)
                alarm(30)
                let server = try await LocalServer { $0.get("/", .text("right")) }
                let loop = EventLoop(name: "shared")
                let session = TestHarness.session { $0.eventLoop = loop }
                let neighbour = TestHarness.session { $0.eventLoop = loop }
                let task = session.request("http://hanging/").serializingData()
                task.resume()
                // Opened when the lookup reads it; the lookup continues when it is closed.
                let writer = await withCheckedContinuation { continuation in
                    Thread.detachNewThread { continuation.resume(returning: unsafe open(pipe, O_WRONLY | O_CLOEXEC)) }
                }
                precondition(writer >= 0)
                let end = Task { await session.shutdown() }
                if isCancelled { task.cancel() } else { end.cancel() }
                let error = await task.response.error
                precondition(error?.kind == .cancelled, "\(String(describing: error))")
                await end.value
                let answer = try await neighbour.request(server.url("/")).serializingString().value
                precondition(answer == "right")
                close(writer)
            }
        }
    }
}
