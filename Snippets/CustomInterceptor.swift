// Sends a request to the next mirror if a mirror does not respond, with a
// custom interceptor.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

// snippet.interceptor
/// Sends each attempt of a request to another mirror, until the request has
/// been sent to all mirrors.
struct Mirrors: RequestInterceptor {
    let urls: [URL]

    func adapt(_ request: HTTPRequest, using state: RequestAdapterState)
        async throws -> HTTPRequest
    {
        var request = request
        let mirror = urls[state.retryCount % urls.count]
        guard
            var parts = URLComponents(
                url: request.url, resolvingAgainstBaseURL: true)
        else { return request }
        (parts.scheme, parts.host, parts.port) = (
            mirror.scheme, mirror.host, mirror.port
        )
        request.url = parts.url ?? request.url
        request.headers.update(
            name: "X-Attempt", value: "\(state.retryCount + 1)")
        return request
    }

    func retry(
        _ request: any Request, for session: Session, dueTo error: any Error
    )
        async -> RetryResult
    {
        guard let error = error as? RequestError,
            error.isConnectionFailure || error.statusCode == 503,
            request.retryCount + 1 < urls.count
        else { return .doNotRetry }
        return .retry
    }
}
// snippet.end

enum CustomInterceptor {
    static func run() async throws {
        let busy = try await LocalServer { router in
            router.get("/tea", .status(503))
        }
        let mirror = try await LocalServer { router in
            router.get("/tea") { request in
                let (attempt, guest) = (
                    request.headers["X-Attempt"] ?? "?",
                    request.headers["X-For"] ?? "a guest"
                )
                let kind = request.query.items.first?.value ?? "Assam"
                return .text("\(kind) for \(guest), at attempt \(attempt)")
            }
        }
        let urls = [busy.url, mirror.url]

        // snippet.session
        let session = Session(interceptor: Mirrors(urls: urls))
        let tea = try await session.request(
            "http://tea.example/tea?kind=Earl%20Grey"
        )
        .adapt { request, _ in
            var request = request
            request.headers.update(name: "X-For", value: "Ada")
            return request
        }
        .validate()
        .serializingString()
        .value
        // snippet.end
        print(tea)
        await session.shutdown()

        try await several(urls)
    }

    static func several(_ urls: [URL]) async throws {
        // snippet.several
        // All adapters run first, and then the interceptors, in the order of
        // the arrays. The first retrier that does not return `.doNotRetry`
        // decides.
        let interceptor = Interceptor(
            adapters: [
                .gzipCompressor, RateLimiter(requestsPerSecond: 100, burst: 10),
            ],
            retriers: [.retryPolicy],
            interceptors: [Mirrors(urls: urls)])
        let session = Session(interceptor: interceptor)
        // snippet.end
        let request = session.request("http://tea.example/tea").validate()
        print(try await request.serializingString().value)
        await session.shutdown()
    }
}

try await CustomInterceptor.run()
