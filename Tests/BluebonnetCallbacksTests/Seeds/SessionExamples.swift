import BluebonnetCompatibility
import BluebonnetTesting
import Foundation
import FoundationNetworking
import Testing

/// Advanced usage: sessions; with data of our own.
@Suite(.timeLimit(.minutes(10))) struct SessionExamples {
    @Test func `The default session, by both of its names`() async throws {
        let url = try Examples.url("/get")
        let first = await Examples.answer { done in AF.request(url).response { done($0) } }
        let session = Session.default
        let second = await Examples.answer { done in session.request(url).response { done($0) } }
        #expect(first.response?.statusCode == 200 && second.response?.statusCode == 200)
    }

    @Test func `A session with a URLSessionConfiguration`() async throws {
        let configuration = URLSessionConfiguration.af.default
        configuration.allowsCellularAccess = false
        configuration.timeoutIntervalForRequest = 20

        let session = Session(configuration: configuration)
        let echo = try await session.request(Examples.url("/get")).serializingDecodable(Examples.Echo.self).value
        #expect(echo.headers?["User-Agent"]?.isEmpty == false && echo.headers?["Accept-Encoding"]?.isEmpty == false)
    }

    @Test func `A session whose requests are started by hand`() async throws {
        let session = Session(startRequestsImmediately: false)
        let request = try session.request(Examples.url("/get"))
        let response = await Examples.answer { done in request.response { done($0) }.resume() }
        #expect(response.error == nil)
    }

    @Test func `A session with queues, which are ignored`() {
        let rootQueue = DispatchQueue(label: "garden.root")
        let requestQueue = DispatchQueue(label: "garden.request")
        let serializationQueue = DispatchQueue(label: "garden.serialization")

        let session = Session(
            rootQueue: rootQueue, requestQueue: requestQueue, serializationQueue: serializationQueue)
        #expect(session.startRequestsImmediately)
    }

    @Test func `A session with an interceptor, a trust manager and a redirect handler`() async throws {
        let policy = RetryPolicy()
        let manager = ServerTrustManager(evaluators: ["pinned.garden.test": PinnedCertificatesTrustEvaluator()])
        let redirector = Redirector(behavior: .follow)
        _ = Session(interceptor: policy)
        _ = Session(serverTrustManager: manager)
        let session = Session(redirectHandler: redirector)
        let response = try await session.request(Examples.url("/redirect/2")).serializingData().response
        #expect(response.response?.url?.path == "/get")
    }

    @Test func `A session with a handler of cached responses`() async throws {
        let cacher = ResponseCacher(behavior: .cache)
        let session = Session(cachedResponseHandler: cacher)
        let url = try Examples.url("/cache/60")
        let first = await session.request(url).serializingData().response
        let second = await session.request(url).serializingData().response
        #expect(first.metrics != nil && second.metrics == nil && second.data == first.data)
        let third = await Examples.answer { done in
            session.request(url).cacheResponse(using: cacher).responseString { done($0) }
        }
        #expect(third.response?.statusCode == 200 && third.metrics == nil)
    }

    @Test func `Operating on all requests`() async {
        let session = Session(transport: StubTransport { _ in .never })
        let response = await Examples.answer { done in
            session.request("http://stub.test/").response { done($0) }
            session.withAllRequests { requests in
                requests.forEach { $0.suspend() }
                session.cancelAllRequests(completingOn: .main) {
                    dispatchPrecondition(condition: .onQueue(.main))
                }
            }
        }
        #expect(response.error?.isExplicitlyCancelledError == true)
    }
}

/// Advanced usage: reachability; with a host of our own.
@Suite(.timeLimit(.minutes(10))) struct ReachabilityExamples {
    @Test func `A handler of statuses, on the main queue by default`() async {
        let manager = NetworkReachabilityManager(host: "localhost")
        let status = await Examples.answer { done in
            manager?.startListening { status in
                dispatchPrecondition(condition: .onQueue(.main))
                done(status)
            }
        }
        #expect(status == .reachable(.ethernetOrWiFi))
        #expect(manager?.status == status && manager?.isReachable == true)
        #expect(manager?.isReachableOnEthernetOrWiFi == true && manager?.isReachableOnCellular == false)
        manager?.stopListening()
    }

    @Test func `A handler of statuses on a custom queue`() async {
        let manager = NetworkReachabilityManager(host: "127.0.0.1")
        let queue = DispatchQueue(label: "garden.gate")
        let status: NetworkReachabilityManager.NetworkReachabilityStatus = await Examples.answer { done in
            let isListening = manager?.startListening(onQueue: queue) { status in
                dispatchPrecondition(condition: .onQueue(queue))
                done(status)
            }
            #expect(isListening == true)
        }
        #expect(status == .reachable(.ethernetOrWiFi))
        manager?.stopListening()
    }

    @Test func `A text with a scheme is not a host`() {
        #expect(NetworkReachabilityManager(host: "https://example.com") == nil)
        #expect(NetworkReachabilityManager.default != nil && NetworkReachabilityManager() != nil)
    }
}
