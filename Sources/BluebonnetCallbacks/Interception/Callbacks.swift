import Bluebonnet
import BluebonnetFoundation
import FoundationNetworking

/// Asks user code that answers by completion handlers.
enum Callbacks {
    /// Says that a completion handler was dropped without having been called.
    private struct CompletionNotCalled: Error, CustomStringConvertible {
        var description: String { "a completion handler was dropped and not called" }
    }

    typealias Completion<Value> = @Sendable (Value) -> Void

    nonisolated(nonsending) static func value<Value: Sendable>(
        _ ask: (@escaping Completion<Result<Value, any Error>>) -> Void
    ) async throws -> Value {
        try await Answer.wait(fallback: .failure(CompletionNotCalled()), ask).get()
    }

    nonisolated(nonsending) static func adapt(
        _ request: HTTPRequest, _ ask: (URLRequest, @escaping Completion<Result<URLRequest, any Error>>) -> Void
    ) async throws -> HTTPRequest {
        let original = URLRequest(request)
        return try request.changed(from: original, to: await value { ask(original, $0) })
    }

    nonisolated(nonsending) static func retry(
        _ error: any Error, _ ask: (any Error, @escaping Completion<RetryResult>) -> Void
    ) async -> RetryResult {
        await Answer.wait(fallback: .doNotRetry) { ask(error.asAFError ?? error, $0) }
    }
}
