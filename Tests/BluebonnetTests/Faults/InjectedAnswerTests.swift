import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

/// An attacker without a key, on the path to a server with TLS, writes a response into the connection.
@Suite(.timeLimit(.minutes(10))) struct InjectedAnswerTests {
    /// Without TLS, the bytes on a connection that the server resets are its response to a refused upload.
    @Test func `unencrypted bytes are not used as the response to an upload with TLS`() async throws {
        let session = try TestHarness.trustingSession {
            $0.httpVersion = .http1_1
            $0.continueTimeout = nil
        }
        let url = try TestServers.misbehavingHTTP2.url("/injected")
        for _ in 0..<20 {
            let answer = await session.upload(Data(count: 8 << 20), to: url).serializingString().response
            #expect(answer.response == nil && answer.value == nil, "\(answer)")
            #expect(answer.error?.isConnectionFailure == true, "\(String(describing: answer.error))")
        }
        await session.shutdown()
    }
}
