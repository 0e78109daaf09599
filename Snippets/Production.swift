// Puts retries, a cache, traces, a circuit breaker, hedging and metrics
// together in one session.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum Production {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.get("/prices") { request in
                // The first request fails, and its retry succeeds.
                request.sequence == 1
                    ? .status(503)
                    : .text("Tea: 3", headers: ["Cache-Control": "max-age=60"])
            }
        }
        let metrics = MetricsMonitor()
        let session = session(metrics)
        for _ in 1...2 {
            let response = await session.request(server.url("/prices"))
                .validate().serializingString().response
            print(
                try response.result.get(),
                response.source == .network
                    ? "from the network" : "from the cache")
        }
        let responses = metrics.snapshot().filter {
            $0.instrument == .responses
        }
        .map(\.count).reduce(0, +)
        print(
            "\(responses) responses, one of them with an error status and one from the cache."
        )
        await session.shutdown()
        print("The server received \(server.requestCount) requests.")
        await server.stop()
    }

    // snippet.session
    static func session(_ metrics: MetricsMonitor) -> Session {
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        configuration.timeouts = Timeouts(
            connect: .seconds(5), idle: .seconds(10))
        let libcurl = CurlTransport(configuration: configuration)
        let hedging = HedgingTransport(
            libcurl, policy: .init(delay: .milliseconds(200)))
        return Session(
            configuration: configuration,
            interceptor: Interceptor(
                adapters: [TraceInterceptor()],
                interceptors: [RetryPolicy(budget: .perHost())]),
            eventMonitors: [metrics], transport: CircuitBreaker(hedging))
    }
    // snippet.end
}

try await Production.run()
