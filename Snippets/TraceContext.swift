// Follows a request through three services, with a span for each attempt and
// each redirect.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum Traces {
    static func run() async throws {
        // snippet.session
        let session = Session(interceptor: TraceInterceptor())
        // snippet.end

        let stock = try await LocalServer { router in
            router.get("/tea") { request in
                .text(
                    TraceContext(headers: request.headers)?.traceID
                        ?? "no trace")
            }
        }
        let shop = try await LocalServer { router in
            router.get("/order", .redirect(to: "/orders"))
            // snippet.service
            router.get("/orders") { request in
                // All requests in the closure belong to the trace of the
                // received request.
                let context =
                    TraceContext(headers: request.headers) ?? .newTrace()
                return try await TraceContext.$current.withValue(context) {
                    .text(
                        try await session.request(stock.url("/tea"))
                            .serializingString().value)
                }
            }
            // snippet.end
        }

        // snippet.current
        let trace = TraceContext.newTrace()
        let seen = try await TraceContext.$current.withValue(trace) {
            try await session.request(shop.url("/order"))
                .serializingString().value
        }
        // snippet.end
        print(
            seen == trace.traceID
                ? "One trace through all services." : "Another trace: \(seen)")
        await session.shutdown()

        try await spans(shop.url("/order"))
        await shop.stop()
        await stock.stop()
    }

    static func spans(_ url: URL) async throws {
        // snippet.spans
        let tracing = TraceInterceptor { request, parent in
            let (span, start) = (parent.child(), ContinuousClock.now)
            return TraceSpan(context: span) { outcome in
                let result =
                    outcome.response.map { "\($0.statusCode)" } ?? "failed"
                let isRecent = ContinuousClock.now - start < .seconds(10)
                print(
                    "\(request.method) \(request.url.path):",
                    "\(result)\(isRecent ? "" : ", slow")")
            }
        }
        let session = Session(interceptor: tracing)
        // snippet.end
        _ = try await session.request(url).serializingString().value
        await session.shutdown()
    }
}

try await Traces.run()
