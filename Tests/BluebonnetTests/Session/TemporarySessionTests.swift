import Bluebonnet
import BluebonnetTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct TemporarySessionTests {
    @Test func `A request completes although its session is released before it starts`() async throws {
        for _ in 0..<300 {
            let transport = StubTransport { _ in .text("x") }
            let request = Session(transport: transport).request("https://example.com/")
            for _ in 0..<10 { await Task.yield() }
            let response = await request.serializingString().response
            try #require(response.value == "x")
        }
    }
}
