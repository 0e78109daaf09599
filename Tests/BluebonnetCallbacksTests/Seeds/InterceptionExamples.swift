import BluebonnetCompatibility
import BluebonnetTesting
import Foundation
import FoundationNetworking
import Testing

/// Advanced usage: adapting, retrying, authenticating, compressing, trust; with data of our own.
@Suite(.timeLimit(.minutes(10))) struct InterceptionExamples {
    private struct GateAdapter: RequestAdapter {
        let accessToken: String

        func adapt(
            _ urlRequest: URLRequest, for session: Session,
            completion: @escaping (Result<URLRequest, any Error>) -> Void
        ) {
            var urlRequest = urlRequest
            urlRequest.headers.add(.authorization(bearerToken: accessToken))

            completion(.success(urlRequest))
        }
    }

    private struct Token: Decodable { let token: String }

    private struct NamingAdapter: RequestAdapter {
        func adapt(
            _ urlRequest: URLRequest, for session: Session,
            completion: @escaping (Result<URLRequest, any Error>) -> Void
        ) { completion(.success(urlRequest)) }

        func adapt(
            _ urlRequest: URLRequest, using state: RequestAdapterState,
            completion: @escaping (Result<URLRequest, any Error>) -> Void
        ) {
            var urlRequest = urlRequest
            urlRequest.headers.add(name: "X-Request", value: "\(state.requestID)")
            completion(.success(urlRequest))
        }
    }

    private final class PatientRetrier: RequestRetrier {
        let retryLimit = 2
        let retryableHTTPMethods: Set<HTTPMethod> = [.get]

        func retry(
            _ request: Request, for session: Session, dueTo error: any Error,
            completion: @escaping (RetryResult) -> Void
        ) {
            if request.retryCount < retryLimit,
                let httpMethod = request.request?.method,
                retryableHTTPMethods.contains(httpMethod),
                request.response?.statusCode == 503
            {
                let timeDelay = pow(Double(2), Double(request.retryCount)) * 0.001
                completion(.retryWithDelay(timeDelay))
            } else {
                completion(.doNotRetry)
            }
        }
    }

    @Test func `Adapters, retriers and interceptors that combine them`() async throws {
        let adapter = GateAdapter(accessToken: "iris")
        let retrier = PatientRetrier()
        let interceptor = RetryPolicy(retryLimit: 1)

        let adapterAndRetrier = Interceptor(adapter: adapter, retrier: retrier)
        let composite = Interceptor(interceptors: [adapterAndRetrier, interceptor])

        let session = Session(interceptor: composite)
        let echo = try await session.request(Examples.url("/bearer")).serializingDecodable(Token.self).value
        #expect(echo.token == "iris")
        let named = try await session.request(
            Examples.url("/get"), interceptor: Interceptor(adapters: [NamingAdapter()], retriers: [])
        ).serializingDecodable(Examples.Echo.self).value
        #expect(named.headers?["X-Request"]?.isEmpty == false)
    }

    @Test func `A retrier with a delay in seconds`() async throws {
        let count = Counter()
        let session = Session(
            interceptor: Interceptor(retriers: [PatientRetrier()]),
            transport: StubTransport { _ in count.next() < 3 ? .status(503) : .text("open") })
        let response = await Examples.answer { done in
            session.request("http://stub.test/").validate().responseString { done($0) }
        }
        #expect(response.value == "open")
    }

    // MARK: Authentication

    private struct GardenKey: AuthenticationCredential {
        let accessToken: String
        let refreshToken: String
        let expiration: Date

        var requiresRefresh: Bool { Date(timeIntervalSinceNow: 60) > expiration }
    }

    private final class GateKeeper: Authenticator {
        func apply(_ credential: GardenKey, to urlRequest: inout URLRequest) {
            urlRequest.headers.add(.authorization(bearerToken: credential.accessToken))
        }

        func refresh(
            _ credential: GardenKey, for session: Session,
            completion: @escaping (Result<GardenKey, any Error>) -> Void
        ) {
            completion(
                .success(
                    GardenKey(
                        accessToken: "fresh-\(credential.refreshToken)", refreshToken: "r1",
                        expiration: Date(timeIntervalSinceNow: 3600))))
        }

        func didRequest(
            _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
        ) -> Bool { response.statusCode == 401 }

        func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: GardenKey) -> Bool {
            let bearerToken = HTTPHeader.authorization(bearerToken: credential.accessToken).value
            return urlRequest.headers["Authorization"] == bearerToken
        }
    }

    @Test func `An authenticator with its credential`() async throws {
        let credential = GardenKey(
            accessToken: "old", refreshToken: "r0", expiration: Date(timeIntervalSinceNow: -10))
        let authenticator = GateKeeper()
        let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: credential)

        let session = Session()
        let urlRequest = try URLRequest(url: Examples.url("/bearer"), method: .get)
        let response = await Examples.answer { done in
            session.request(urlRequest, interceptor: interceptor).responseJSON {
                done($0.map { ($0 as? [String: Any])?["token"] as? String })
            }
        }
        #expect(response.value == "fresh-r0")
    }

    // MARK: Compression

    @Test func `Compressing bodies`() async throws {
        let session = Session(transport: StubTransport { .text($0.headers["Content-Encoding"] ?? "none") })
        let beds = ["bed": "roses"]
        func encoding(_ interceptor: any RequestInterceptor) async throws -> String {
            try await session.request(
                "http://stub.test/", method: .post, parameters: beds, encoder: .json, interceptor: interceptor
            ).serializingString().value
        }
        #expect(try await encoding(.deflateCompressor) == "deflate")
        #expect(try await encoding(.deflateCompressor(duplicateHeaderBehavior: .replace)) == "deflate")
        let compressor = DeflateRequestCompressor { bodyData in
            bodyData.count > 100 * 1024
        }
        #expect(try await encoding(compressor) == "none")
    }

    // MARK: Trust

    @Test func `Evaluators for hosts`() throws {
        let evaluators: [String: any ServerTrustEvaluating] = [
            "cert.garden.test": PinnedCertificatesTrustEvaluator(),
            "keys.garden.test": PublicKeysTrustEvaluator(),
            "*.wild.garden.test": DefaultTrustEvaluator(),
            "old.garden.test": CompositeTrustEvaluator(evaluators: [
                DefaultTrustEvaluator(), RevocationTrustEvaluator(),
            ]),
            "test.garden.test": DisabledTrustEvaluator(),
        ]
        let manager = ServerTrustManager(evaluators: evaluators)
        #expect(try manager.serverTrustEvaluator(forHost: "any.wild.garden.test") is DefaultTrustEvaluator)
        #expect(throws: AFError.self) { try manager.serverTrustEvaluator(forHost: "other.test") }
    }

    @Test func `A custom evaluator`() {
        struct Suspicious: ServerTrustEvaluating {
            func evaluate(_ trust: ServerTrust, forHost host: String) throws {
                throw URLError(.serverCertificateUntrusted)
            }
        }
        _ = Session(serverTrustManager: ServerTrustManager(evaluators: ["garden.test": Suspicious()]))
    }
}
