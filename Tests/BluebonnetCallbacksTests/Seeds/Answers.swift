import BluebonnetCompatibility
import Foundation
import TestSupport

/// The server of the examples.
enum Examples {
    static func url(_ path: String) throws -> String { try TestServers.httpbin.url(path).absoluteString }

    /// The request as httpbin echoes it.
    struct Echo: Decodable, Sendable {
        var args: [String: String]?
        var form: [String: String]?
        var headers: [String: String]?
        var json: [String: String]?
        var data: String?
        var url: String?
    }

    /// Waits for the handler that `add` adds to a request to be called.
    static func answer<Answer: Sendable>(
        _ add: (@escaping @Sendable (Answer) -> Void) throws -> Void
    ) async rethrows -> Answer {
        let (answers, continuation) = AsyncStream.makeStream(of: Answer.self)
        try add { continuation.yield($0) }
        for await answer in answers { return answer }
        preconditionFailure("the sequence of answers has no end")
    }
}
