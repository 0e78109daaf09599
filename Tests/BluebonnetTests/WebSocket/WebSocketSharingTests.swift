import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct WebSocketSharingTests {
    @Test func `sockets that share libcurl's handles are counted once, and end alone`() async throws {
        let server = try await WebSocketFixture.server(WebSocketFixture.received(2), WebSocketFixture.text("answer"))
        let session = Session()
        let tasks = (0..<40).map { _ in
            WebSocketFixture.request(session, server).webSocketTask(automaticallyClosing: false)
        }
        for task in tasks { _ = try await task.response }
        #expect(await session.connectionCounts() == ConnectionCounts(open: 40))
        // The end of some leaves the others alone.
        for task in tasks[20...] {
            task.request.cancel()
            await task.request.connection.ended()
        }
        #expect(await session.connectionCounts().open == 20)
        for task in tasks[..<20] {
            try await task.send("ab")
            for try await message in task.messages {
                #expect(message == .text("answer"))
                break
            }
            task.request.cancel()
        }
    }

    @Test func `keys of masks differ`() {
        #expect(Set((0..<200).map { _ in WebSocketMask.key() }).count > 190)
    }
}
