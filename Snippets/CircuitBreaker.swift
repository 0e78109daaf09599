// Stops sending requests to a server that fails, and sends slow requests a
// second time.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

// snippet.tag
/// The part of the server that answers a request.
enum Backend: RequestTag { typealias Value = String }
// snippet.end

enum Resilience {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.get("/orders") { request in
                // The server fails three times, and then recovers.
                request.sequence <= 3 ? .status(503) : .text("All orders.")
            }
            router.get("/health", .text("Healthy."))
        }
        try await breaking(server)
        try await keyed(server)
        await server.stop()

        let slow = try await LocalServer { router in
            router.get("/report") { request in
                if request.sequence == 1 {
                    try await Task.sleep(for: .seconds(30))
                }
                return .text("The report, by request \(request.sequence).")
            }
        }
        try await hedging(slow)
        await slow.stop()
    }

    static func breaking(_ server: LocalServer) async throws {
        // snippet.breaker
        var policy = CircuitBreaker.Policy()
        policy.trip = .consecutiveFailures(3)
        policy.openDuration = .milliseconds(100)
        let session = Session(
            transport: CircuitBreaker(CurlTransport(), policy: policy))
        // snippet.end

        let orders = server.url("/orders")
        // snippet.refused
        for _ in 1...4 {
            let error = await session.request(orders)
                .validate().serializingString().response.error
            if case .circuitOpen = error?.kind {
                print("Refused without a request.")
            }
        }
        // snippet.end
        print("The server received \(server.requestCount) requests.")

        try await Task.sleep(for: .milliseconds(150))
        // The circuit is half-open, and this request is the probe.
        print(
            try await session.request(orders)
                .validate().serializingString().value)
        await session.shutdown()
    }

    static func keyed(_ server: LocalServer) async throws {
        // snippet.keyed
        var policy = CircuitBreaker.Policy()
        policy.trip = .failureRate(
            0.5, window: .seconds(30), minimumRequests: 20)
        policy.key = { request in request.tags[Backend.self] ?? "others" }
        let session = Session(
            transport: CircuitBreaker(CurlTransport(), policy: policy))
        let health = session.request(server.url("/health")).tag(
            Backend.self, "health"
        ).validate()
        // snippet.end
        print(try await health.serializingString().value)
        await session.shutdown()
    }

    static func hedging(_ server: LocalServer) async throws {
        // snippet.hedging
        let hedging = HedgingTransport(
            CurlTransport(), policy: .init(delay: .milliseconds(100)))
        let session = Session(transport: CircuitBreaker(hedging))
        print(
            try await session.request(server.url("/report")).serializingString()
                .value)
        // snippet.end
        await session.shutdown()
    }
}

try await Resilience.run()
