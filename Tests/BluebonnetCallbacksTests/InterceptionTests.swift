import BluebonnetTesting
import Foundation
import FoundationNetworking
import Testing

@testable import BluebonnetCallbacks

@Suite(.timeLimit(.minutes(10))) struct InterceptionTests {
    private struct Thorn: Error {}

    private let queue = DispatchQueue(label: "interception")
    private let url = "http://stub.test/bed"

    private func answer(_ request: DataRequest) async -> AFDataResponse<String> {
        await withCheckedContinuation { continuation in
            request.responseString(queue: queue) { continuation.resume(returning: $0) }
        }
    }

    /// Returns the received fields.
    private func echo(_ request: HTTPRequest) -> StubTransport.Response {
        .text(request.headers.values(for: "Bed").joined(separator: ";") + "|" + (request.headers["Water"] ?? ""))
    }

    private struct Gardener: CallbackRequestInterceptor {
        func adapt(
            _ urlRequest: URLRequest, for session: Session,
            completion: @escaping (Result<URLRequest, any Error>) -> Void
        ) {
            var urlRequest = urlRequest
            urlRequest.headers.append(name: "Water", value: "much")
            completion(.success(urlRequest))
        }

        func retry(
            _ request: any Request, for session: Session, dueTo error: any Error,
            completion: @escaping (RetryResult) -> Void
        ) {
            completion(error.asAFError?.responseCode == 503 && error is AFError ? .retryWithDelay(0.0) : .doNotRetry)
        }
    }

    @Test func `An adapter with a completion handler changes only its own properties`() async {
        let session = Session(interceptor: Gardener(), transport: StubTransport { echo($0) })
        let request = session.request(url, headers: [.init(name: "Bed", value: "a"), .init(name: "Bed", value: "b")])
        #expect(await answer(request).value == "a;b|much")
    }

    @Test func `A retrier with a completion handler decides and receives an AFError`() async {
        let number = Counter()
        let session = Session(
            interceptor: Gardener(), transport: StubTransport { _ in number.next() < 3 ? .status(503) : .text("up") })
        #expect(await answer(session.request(url).validate()).value == "up")
        #expect(number.next() == 4)
    }

    private typealias AdaptHandler =
        @Sendable (URLRequest, Session, @escaping @Sendable (Result<URLRequest, any Error>) -> Void) -> Void
    private typealias RetryHandler =
        @Sendable (any Request, Session, any Error, @escaping @Sendable (RetryResult) -> Void) -> Void

    @Test func `Closures with completion handlers do the same, in all their forms`() async {
        let adapt: AdaptHandler = { urlRequest, _, completion in
            var urlRequest = urlRequest
            urlRequest.setValue("some", forHTTPHeaderField: "Water")
            completion(.success(urlRequest))
        }
        let retry: RetryHandler = { request, _, _, completion in
            completion(request.retryCount < 1 ? .retry : .doNotRetry)
        }
        let interceptors: [any RequestInterceptor] = [
            Interceptor(adaptHandler: adapt, retryHandler: retry),
            Interceptor(adapter: Adapter(adapt), retrier: Retrier(retry)),
            .interceptor(adapter: adapt, retrier: retry),
            .interceptor(adapters: [.adapter(using: adapt)], retriers: [.retrier(using: retry)]),
        ]
        for interceptor in interceptors {
            let number = Counter()
            let session = Session(
                interceptor: interceptor,
                transport: StubTransport { number.next() == 1 ? .status(500) : echo($0) })
            #expect(await answer(session.request(url).validate()).value == "|some")
        }
    }

    @Test func `An adapter that fails or never completes fails the request`() async {
        let session = Session(transport: StubTransport { _ in .status(500) })
        let failing = Adapter { _, _, completion in completion(.failure(Thorn())) }
        let failed = await answer(session.request(url, interceptor: failing))
        #expect(failed.error?.isRequestAdaptationError == true && failed.error?.underlyingError is Thorn)
        let forgetful = Adapter { _, _, _ in }
        let forgotten = await answer(session.request(url, interceptor: forgetful))
        #expect(forgotten.error?.isRequestAdaptationError == true)
        let silent = Retrier { _, _, _, _ in }
        #expect(await answer(session.request(url, interceptor: silent).validate()).error?.responseCode == 500)
    }

    @Test func `Cancelling does not wait for an adapter that never completes`() async {
        let session = Session(transport: StubTransport { _ in .ok })
        let kept = Locked<[@Sendable (Result<URLRequest, any Error>) -> Void]>([])
        let asked = CallLog<Void>()
        let adapter = Adapter { _, _, completion in
            kept.withLock { $0.append(completion) }
            asked.note(())
        }
        let request = session.request(url, interceptor: adapter)
        async let response = answer(request)
        _ = await asked.wait(for: 1)
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
        let completions = kept.withLock { $0 }
        for completion in completions { completion(.failure(Thorn())) }
    }

    @Test func `An authenticator with a completion handler refreshes once for all`() async throws {
        struct Key: AuthenticationCredential {
            let number: Int
            var requiresRefresh: Bool { false }
        }
        struct Locksmith: CallbackAuthenticator {
            let refreshes: Counter

            func apply(_ credential: Key, to urlRequest: inout URLRequest) {
                urlRequest.headers.update(.authorization(bearerToken: "\(credential.number)"))
            }

            func refresh(
                _ credential: Key, for session: Session, completion: @escaping (Result<Key, any Error>) -> Void
            ) {
                completion(.success(Key(number: refreshes.next())))
            }

            func didRequest(
                _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
            ) -> Bool { response.statusCode == 401 && error is AFError }

            func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Key) -> Bool {
                urlRequest.headers["Authorization"] == "Bearer \(credential.number)"
            }
        }
        let refreshes = Counter()
        let interceptor = AuthenticationInterceptor(
            authenticator: Locksmith(refreshes: refreshes), credential: Key(number: 0))
        let session = Session(
            interceptor: interceptor,
            transport: StubTransport { request in
                request.headers["Authorization"] == "Bearer 1" ? .text("open") : .status(401)
            })
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<10 { group.addTask { await answer(session.request(url).validate()).value } }
            for try await value in group { #expect(value == "open") }
        }
        #expect(refreshes.next() == 2)
    }
}
