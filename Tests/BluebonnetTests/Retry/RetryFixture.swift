import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// A clock for retries whose sleeps are over at once, and noted.
final class RecordedSleeps: Sendable {
    private let noted = Locked<[Duration]>([])

    var all: [Duration] { noted.withLock { $0 } }

    func use(in configuration: inout Session.Configuration) {
        configuration.sleep = { [noted] duration in
            noted.withLock { $0.append(duration) }
            try Task.checkCancellation()
        }
    }
}

/// Counts what happens, from 1.
final class Counter: Sendable {
    private let count = Locked(0)

    var value: Int { count.withLock { $0 } }

    @discardableResult
    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}

/// A way in which a server of HTTP/1.1 fails.
struct RetryFault: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let response: LocalServer.Response
    let kind: RequestError.Kind

    static let all: [RetryFault] =
        [408, 429, 500, 502, 503, 504].map {
            RetryFault(
                testDescription: "\($0)", response: .text("fault", status: $0),
                kind: .validation(.unacceptableStatusCode($0)))
        } + [
            RetryFault(testDescription: "reset", response: .script(.reset), kind: .connection(.lost)),
            RetryFault(testDescription: "close", response: .script(.close), kind: .connection(.lost)),
            RetryFault(
                testDescription: "short body",
                response: .script(.bytes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789"), .close),
                kind: .invalidResponse(.truncated)),
            RetryFault(
                testDescription: "no HTTP", response: .script(.bytes("SSH-2.0-OpenSSH_9.2\r\n"), .close),
                kind: .invalidResponse(.malformed)),
            RetryFault(
                testDescription: "no gzip", response: .text("fault", headers: ["Content-Encoding": "gzip"]),
                kind: .invalidResponse(.undecodableContent)),
        ]

    /// Permanent failures, which are detected after some time.
    static let silent = RetryFault(testDescription: "stall", response: .script(.stall), kind: .timedOut(.idle))
}
