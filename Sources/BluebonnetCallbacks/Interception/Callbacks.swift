import Bluebonnet
import BluebonnetFoundation
import FoundationNetworking

/// Asks user code that answers by completion handlers.
enum Callbacks {
    /// Says that a completion handler was dropped without having been called.
    struct CompletionNotCalled: Error, CustomStringConvertible {
        var description: String { "a completion handler was dropped and not called" }
    }

    typealias Completion<Value> = @Sendable (Value) -> Void

    nonisolated(nonsending) static func adapt(
        _ request: HTTPRequest, _ ask: (URLRequest, @escaping Completion<Result<URLRequest, any Error>>) -> Void
    ) async throws -> HTTPRequest {
        let original = URLRequest(request)
        let answer = await Answer.wait(fallback: Result<URLRequest, any Error>.failure(CompletionNotCalled())) {
            ask(original, $0)
        }
        return try request.changed(from: original, to: answer.get())
    }

    nonisolated(nonsending) static func retry(
        _ error: any Error, _ ask: (any Error, @escaping Completion<RetryResult>) -> Void
    ) async -> RetryResult {
        let error = (error as? RequestError).map(AFError.init) ?? error
        return await Answer.wait(fallback: RetryResult.doNotRetry) { ask(error, $0) }
    }
}
