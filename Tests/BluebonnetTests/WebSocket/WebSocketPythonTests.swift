import BluebonnetTesting
import Foundation
import TestSupport
import Testing

@testable import Bluebonnet

/// WebSockets with the server of Python's "websockets".
@Suite(.timeLimit(.minutes(10))) struct WebSocketPythonTests {
    /// Runs a test with the port of a server, and ends the server.
    private func withServer(_ arguments: [String] = ["plain"], _ body: (Int) async throws -> Void) async throws {
        let support = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Support/servers/websocket_echo.py")
        let python = try #require(ProcessInfo.processInfo.environment["BLUEBONNET_PYTHON"])
        let program = try LineOutputProgram(command: [python, support.path(percentEncoded: false)] + arguments)
        defer { program.send(9) }
        var lines = program.lines.makeAsyncIterator()
        try await body(try #require(await lines.next().flatMap { Int($0) }))
    }

    @Test(arguments: [true, false])
    func `messages of all sizes come back, with and without compression`(isCompressed: Bool) async throws {
        try await withServer { port in
            let session = TestHarness.session()
            let task = session.webSocket(
                "ws://127.0.0.1:\(port)/", protocols: ["chat"],
                configuration: .init(compressesMessages: isCompressed)
            ).webSocketTask()
            var messages = task.messages.makeAsyncIterator()
            for size in [0, 1, 125, 126, 65_535, 65_536, 1_000_000] {
                let data = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 * 31 >> 2) })
                async let sending: Void = task.send(data)
                #expect(try await messages.next() == .binary(data))
                try await sending
                try await task.send(String(repeating: "ü", count: size / 2))
                #expect(try await messages.next() == .text(String(repeating: "ü", count: size / 2)))
            }
            #expect(task.negotiatedProtocol == "chat")
            let extensions = try await task.response.headers["Sec-WebSocket-Extensions"]
            #expect((extensions != nil) == isCompressed)
            try await task.ping()
            try await task.close(code: 4000, reason: "done")
            #expect(task.closeCode == 4000)
            #expect(try await messages.next() == nil)
            await session.shutdown()
        }
    }

    @Test func `the server's close and a cut connection have different codes`() async throws {
        try await withServer { port in
            let session = TestHarness.session()
            for (order, code) in [("close", 3001), ("abort", 1006)] as [(String, WebSocketCloseCode)] {
                let task = session.webSocket("ws://127.0.0.1:\(port)/").webSocketTask()
                try await task.send(order)
                let (_, error) = await WebSocketFixture.messages(task)
                #expect(error?.kind == .webSocket(.closed(code)))
            }
            await session.shutdown()
        }
    }
}
