import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// A retry policy before an HTTP/2 server that fails, which counts what it gets.
@Suite(.timeLimit(.minutes(1))) struct RetryHTTP2Tests {
    private let sleeps = NotedSleeps()
    private let key = UUID().uuidString

    private func session() throws -> Session {
        try Weather.trustingSession { sleeps.use(in: &$0) }
    }

    private struct Counts: Decodable, Sendable {
        var requests: Int
    }

    private func requestCount() async throws -> Int {
        let session = try Weather.trustingSession()
        let url = try TestServers.misbehavingHTTP2.url("/counts?key=\(key)")
        let counts = try await session.request(url).validate().serializingDecodable(Counts.self).value
        await session.shutdown()
        return counts.requests
    }

    private func request(_ path: String, in session: Session, method: HTTPMethod = .get) throws -> DataRequest {
        let separator = path.contains("?") ? "&" : "?"
        let url = try TestServers.misbehavingHTTP2.url("\(path)\(separator)key=\(key)")
        return session.request(url, method: method).validate().retry(using: .retryPolicy(jitter: .none))
    }

    @Test(arguments: [
        // Each attempt is sent twice.
        ("/goaway-before", RequestError.Kind.connection(.http2), 2),
        ("/goaway-before?code=11", .connection(.http2), 2),
        ("/reset", .invalidResponse(.http2Stream), 3), ("/reset-in-body", .invalidResponse(.http2Stream), 3),
        ("/goaway-in-body", .invalidResponse(.truncated), 3), ("/closed-before", .connection(.lost), 3),
        ("/aborted", .connection(.lost), 3),
    ])
    func `a fault that does not pass is tried again so often`(
        _ path: String, kind: RequestError.Kind, requests: Int
    ) async throws {
        let session = try session()
        let request = try request(path, in: session)
        let answer = await request.serializingData().response
        #expect(answer.error?.kind == kind, "\(answer)")
        #expect(answer.error?.attempts == requests)
        #expect(request.retryCount == requests - 1)
        #expect(try await requestCount() == (kind == .connection(.http2) ? 2 * requests : requests))
        await session.shutdown()
    }

    @Test func `a request that met a GOAWAY is sent again on another connection, without a retrier`() async throws {
        let session = try session()
        let request = try request("/goaway-once", in: session)
        let answer = await request.serializingData().response
        #expect(answer.response?.statusCode == 200 && answer.error == nil, "\(answer)")
        #expect(request.retryCount == 0)
        #expect(try await requestCount() == 2)
        await session.shutdown()
    }

    @Test func `a stream that is refused is libcurl's to ask for again`() async throws {
        let session = try session()
        let request = try request("/refused-once", in: session)
        #expect(await request.serializingData().response.error == nil)
        #expect(request.retryCount == 0 && sleeps.all.isEmpty)
        #expect(try await requestCount() == 2)
        await session.shutdown()
    }

    @Test func `streams that are refused again and again are not asked for by two layers`() async throws {
        let session = try session()
        let request = try request("/refused", in: session)
        #expect(await request.serializingData().response.error?.kind == .connection(.lost))
        #expect(request.retryCount == 0 && sleeps.all.isEmpty)
        // Once more, although libcurl alone would do that five times.
        #expect(try await requestCount() == 2)
        await session.shutdown()
    }

    /// Sends a body on a connection of its own, or on one that was used before.
    private func uploaded(_ path: String, _ method: HTTPMethod, isKept: Bool) async throws -> RequestError? {
        let session = try session()
        if isKept {
            let first = try TestServers.misbehavingHTTP2.url("/ok")
            _ = try await session.request(first).validate().serializingData().value
        }
        let url = try TestServers.misbehavingHTTP2.url("\(path)?key=\(key)")
        let answer = await session.upload(Data("body".utf8), to: url, method: method).validate()
            .retry(using: .retryPolicy(jitter: .none)).serializingData().response
        await session.shutdown()
        return answer.error
    }

    @Test(arguments: [HTTPMethod.put, .post])
    func `a stream that is refused takes its body along to the next`(_ method: HTTPMethod) async throws {
        let error = try await uploaded("/refused-once", method, isKept: false)
        #expect(error == nil)
        #expect(try await requestCount() == 2)
    }

    @Test(arguments: [HTTPMethod.put, .post])
    func `a body whose streams are all refused is sent once more`(_ method: HTTPMethod) async throws {
        let error = try await uploaded("/refused", method, isKept: false)
        #expect(error?.kind == .connection(.lost))
        #expect(try await requestCount() == 2)
    }

    @Test(arguments: [(HTTPMethod.put, 2), (.post, 1)])
    func `on a kept connection, libcurl does not tell a refusal from its death`(
        _ method: HTTPMethod, requests: Int
    ) async throws {
        let error = try await uploaded("/refused-once", method, isKept: true)
        #expect(error?.kind == (requests == 2 ? nil : .connection(.lost)))
        #expect(try await requestCount() == requests)
    }

    @Test func `a POST that met a GOAWAY may have been processed, as far as libcurl tells`() async throws {
        let session = try session()
        let request = try request("/goaway-before", in: session, method: .post)
        #expect(await request.serializingData().response.error?.kind == .connection(.http2))
        #expect(try await requestCount() == 1)
        await session.shutdown()
    }
}
