// Retries requests after temporary failures, with the server's delay and a
// limit.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum Retries {
    static func run() async throws {
        let server = try await LocalServer { _ in }
        await server.route { router in
            // The server refuses the first two requests.
            router.get("/report") { _ in
                switch server.requestCount {
                case 1: .status(503)
                case 2: .status(429, headers: ["Retry-After": "1"])
                default: .text("All is well.")
                }
            }
            router.post("/orders", .status(503))
            router.on("/orders", method: .put, .status(503))
        }
        let url = server.url("/report")

        // snippet.session
        let session = Session(interceptor: RetryPolicy())

        // Call `validate()`, so that a 503 fails the request and reaches the
        // policy.
        let request = session.request(url).validate()
        let report = try await request.serializingString().value
        print("\(report) It took \(request.retryCount) retries.")
        // snippet.end

        let orders = server.url("/orders")
        await notTwice(session, orders)
        await once(orders)
        await storm(url: orders)
        await session.shutdown()
    }

    static func notTwice(_ session: Session, _ orders: URL) async {
        // A POST is not retried by default, because the server may have
        // accepted the order despite the error.
        let order = session.request(orders, method: .post).validate()
        let error = await order.serializingData().response.error
        print(
            "The order: status \(error?.statusCode ?? 0) after \(order.retryCount) retries."
        )
    }

    static func once(_ orders: URL) async {
        let session = Session()
        // snippet.request
        // The server identifies an order by its key and accepts the order only
        // once. The request can therefore be retried.
        let order = session.request(
            orders, method: .post, headers: ["Idempotency-Key": "4711"]
        ).validate()
            .retry(
                using: RetryPolicy(
                    retryLimit: 1, retryableHTTPMethods: [.post],
                    maximumDelay: .seconds(5)))
        // snippet.end
        let error = await order.serializingData().response.error
        print(
            "The same with a key: status \(error?.statusCode ?? 0) after \(order.retryCount) retry."
        )
        await session.shutdown()
    }

    static func storm(url: URL) async {
        // snippet.budget
        // Each request adds a tenth of a retry to the budget. The budget
        // contains at most three retries.
        let budget = RetryBudget(ratio: 0.1, reserve: 3)
        let session = Session(
            interceptor: RetryPolicy(
                exponentialBackoffScale: 0.01, budget: budget))
        // snippet.end
        var retries = 0
        for _ in 1...50 {
            let request = session.request(url, method: .put).validate()
            _ = await request.serializingData().response
            retries += request.retryCount
        }
        print("50 requests to a server that fails: \(retries) retries.")
        await session.shutdown()
    }
}

try await Retries.run()
