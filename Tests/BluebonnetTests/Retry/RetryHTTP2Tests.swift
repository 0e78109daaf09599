import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// A retry policy with a failing HTTP/2 server, which counts its requests.
@Suite(.timeLimit(.minutes(10))) struct RetryHTTP2Tests {
    private let sleeps = RecordedSleeps()
    private let key = UUID().uuidString

    private func session() throws -> Session {
        try TestHarness.trustingSession { sleeps.use(in: &$0) }
    }

    private struct Counts: Decodable, Sendable {
        var requests: Int
    }

    private func requestCount() async throws -> Int {
        let session = try TestHarness.trustingSession()
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

    /// A fault, the resulting error, the number of attempts, and how often each attempt is sent.
    typealias Row = (path: String, kind: RequestError.Kind, attempts: Int, sendings: Int)

    /// Each attempt is sent twice.
    ///
    /// If the transport knows that the server has refused both sendings, there is one attempt.
    private static let goAways: [Row] = [
        ("/goaway-before", .connection(.lost), 1, 2), ("/goaway-before?code=11", .connection(.lost), 1, 2),
    ]

    private static let others: [Row] = [
        ("/reset", .invalidResponse(.http2Stream), 3, 1), ("/reset-in-body", .invalidResponse(.http2Stream), 3, 1),
        ("/goaway-in-body", .invalidResponse(.truncated), 3, 1), ("/closed-before", .connection(.lost), 3, 1),
        ("/aborted", .connection(.lost), 3, 1),
    ]

    @Test(arguments: goAways + others)
    func `a permanent fault is retried a limited number of times`(_ row: Row) async throws {
        let (path, kind, attempts, sendings) = row
        let session = try session()
        let request = try request(path, in: session)
        let answer = await request.serializingData().response
        #expect(answer.error?.kind == kind, "\(answer)")
        #expect(answer.error?.attempts == attempts)
        #expect(request.retryCount == attempts - 1)
        #expect(try await requestCount() == attempts * sendings)
        await session.shutdown()
    }

    @Test func `a request after a GOAWAY is sent again on another connection without a retrier`() async throws {
        let session = try session()
        let request = try request("/goaway-once", in: session)
        let answer = await request.serializingData().response
        #expect(answer.response?.statusCode == 200 && answer.error == nil, "\(answer)")
        #expect(request.retryCount == 0)
        #expect(try await requestCount() == 2)
        await session.shutdown()
    }

    @Test func `libcurl repeats a refused stream`() async throws {
        let session = try session()
        let request = try request("/refused-once", in: session)
        #expect(await request.serializingData().response.error == nil)
        #expect(request.retryCount == 0 && sleeps.all.isEmpty)
        #expect(try await requestCount() == 2)
        await session.shutdown()
    }

    @Test func `repeatedly refused streams are not retried by two layers`() async throws {
        let session = try session()
        let request = try request("/refused", in: session)
        #expect(await request.serializingData().response.error?.kind == .connection(.lost))
        #expect(request.retryCount == 0 && sleeps.all.isEmpty)
        // The request is repeated once, although libcurl alone would repeat it five times.
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
    func `the body of a refused stream is sent on the next stream`(_ method: HTTPMethod) async throws {
        let error = try await uploaded("/refused-once", method, isKept: false)
        #expect(error == nil)
        #expect(try await requestCount() == 2)
    }

    @Test(arguments: [HTTPMethod.put, .post])
    func `a body whose streams are all refused is sent one more time`(_ method: HTTPMethod) async throws {
        let error = try await uploaded("/refused", method, isKept: false)
        #expect(error?.kind == .connection(.lost))
        #expect(try await requestCount() == 2)
    }

    @Test(arguments: [HTTPMethod.put, .post])
    func `on a kept connection, the body of a refused stream is sent again`(_ method: HTTPMethod) async throws {
        #expect(try await uploaded("/refused-once", method, isKept: true) == nil)
        #expect(try await requestCount() == 2)
    }

    @Test func `a POST that is refused by each GOAWAY is sent one more time`() async throws {
        let session = try session()
        let error = try await request("/goaway-before", in: session, method: .post).serializingData().response.error
        #expect(error?.kind == .connection(.lost), "\(String(describing: error))")
        #expect(error?.isSafeToRetry == true)
        #expect(try await requestCount() == 2)
        await session.shutdown()
    }
}
