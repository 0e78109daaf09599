import Bluebonnet
import BluebonnetTesting
import Foundation
import Glibc
import TestSupport
import Testing

/// Each use of a session in a process that `fork()` has made after the first request ends at once.
@Suite struct ForkTests {
    private static let refused: Int32 = 42

    enum Use: String, CaseIterable, Codable, Sendable {
        case request, secondRequest, newSession, download, stream, webSocket, shutdown
    }

    /// Without ``ForkedProcess``, the copy gets no answer, or its last thread ends, and with it the process, without an
    /// error.
    @Test(arguments: Use.allCases) func `a request of a forked process fails and names the cause`(use: Use) async throws
    {
        try await ExitTestInput.pass(use) {
            await #expect(processExitsWith: .success) {
                let use = try ExitTestInput.value(as: Use.self)
                let server = try await LocalServer { router in router.get("/a") { _ in .text("a") } }
                let (session, url) = (Session(), server.url("/a"))
                #expect(try await session.request(url).serializingString().value == "a")
                // The copy would wait for a type that another thread prepares for its first use at this moment.
                let ended = Session()
                await ended.shutdown()
                for _ in 0..<2 { _ = await Self.isRefused(use, ended, url) }
                let copy = fork()
                if copy == 0 {
                    // The copy is killed if it waits.
                    Self.permitAlarm()
                    alarm(30)
                    _exit(await Self.isRefused(use, session, url) ? Self.refused : EXIT_FAILURE)
                }
                var status: Int32 = -1
                #expect(unsafe waitpid(copy, &status, 0) == copy)
                #expect(status == Self.refused << 8)
                // The other process is not affected.
                #expect(try await session.request(url).serializingString().value == "a")
                await session.shutdown()
            }
        }
    }

    /// Its parent ends at once, and the copy prints what it saw.
    @Test func `a request after daemon() fails and names the cause`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let server = try await LocalServer { router in router.get("/a") { _ in .text("a") } }
            let (session, url) = (Session(), server.url("/a"))
            #expect(try await session.request(url).serializingString().value == "a")
            let ended = Session()
            await ended.shutdown()
            for _ in 0..<2 { _ = await Self.isRefused(.request, ended, url) }
            guard daemon(1, 1) == 0 else { _exit(EXIT_FAILURE) }
            Self.permitAlarm()
            alarm(30)
            let text = await Self.isRefused(.request, session, url) ? "refused" : "not refused"
            _ = unsafe write(STDOUT_FILENO, text, text.utf8.count)
            _exit(EXIT_SUCCESS)
        }
        #expect(String(decoding: try #require(result).standardOutputContent, as: UTF8.self) == "refused")
    }

    /// The threads of the pool block it.
    private static func permitAlarm() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGALRM)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    private static func isRefused(_ use: Use, _ session: Session, _ url: URL) async -> Bool {
        do {
            switch use {
            case .request: _ = try await session.request(url).serializingString().value
            case .secondRequest:
                _ = try? await session.request(url).serializingString().value
                _ = try await session.request(url).serializingString().value
            case .newSession: _ = try await Session().request(url).serializingString().value
            case .download: _ = try await session.download(url).serializingURL().value
            case .stream: for try await _ in session.streamRequest(url).streamTask().bytes {}
            case .webSocket: for try await _ in session.webSocket(url).webSocketTask().messages {}
            case .shutdown:
                await session.shutdown()
                return await session.connectionCounts() == ConnectionCounts()
            }
            return false
        } catch {
            return error.kind == .sessionShutDown && "\(error)".contains("fork()")
        }
    }
}
