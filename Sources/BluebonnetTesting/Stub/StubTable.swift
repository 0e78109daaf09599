import Bluebonnet
import FoundationEssentials

/// Knows which stub answers which request; a pure value.
struct StubTable: Sendable {
    /// What answers a request.
    enum Answer: Sendable {
        case response(StubTransport.Response)
        case handler(StubTransport.Handler)
        case nothing

        func response(to request: HTTPRequest) async throws -> StubTransport.Response {
            switch self {
            case .response(let response): return response
            case .handler(let handler): return try await handler(request)
            case .nothing: throw RequestError(.connection(.refused), detail: "there is no stub for \(request)")
            }
        }
    }

    private enum Stub: Sendable {
        /// The number of a sequence of responses.
        case sequence(Int)
        case handler(StubTransport.Handler)
    }

    private var routes = RouteTable<Stub>()
    private var fallback: StubTransport.Handler?
    private var sequences: [[StubTransport.Response]] = []

    mutating func setFallback(_ handler: @escaping StubTransport.Handler) {
        fallback = handler
    }

    mutating func set(_ responses: [StubTransport.Response], method: HTTPMethod?, path: String) {
        // Reversed, so that the next one is the last.
        sequences.append(responses.reversed())
        routes.set(.sequence(sequences.count - 1), path: path, method: method)
    }

    mutating func set(_ handler: @escaping StubTransport.Handler, method: HTTPMethod?, path: String) {
        routes.set(.handler(handler), path: path, method: method)
    }

    mutating func answer(to request: HTTPRequest) -> Answer {
        switch stub(for: request) {
        case .sequence(let number):
            guard let response = sequences[number].last else { return .nothing }
            if sequences[number].count > 1 { sequences[number].removeLast() }
            return .response(response)
        case .handler(let handler):
            return .handler(handler)
        case nil:
            return fallback.map { .handler($0) } ?? .nothing
        }
    }

    private func stub(for request: HTTPRequest) -> Stub? {
        let absolute = request.url.absoluteString.prefix { $0 != "?" && $0 != "#" }
        let path = RequestTarget(String(absolute)).path
        for name in [String(absolute), path] {
            if case .found(let stub, _) = routes.match(request.method, name) { return stub }
        }
        return nil
    }
}
