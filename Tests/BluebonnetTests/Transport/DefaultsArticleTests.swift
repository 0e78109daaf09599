import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Compares the article "Defaults" with the code.
@Suite struct DefaultsArticleTests {
    static let configuration = Session.Configuration()
    static let socket = WebSocketRequest.Configuration()

    /// A text that identifies a row of the article, a text that the row contains, and whether the code agrees.
    static let rows: [(String, String, Bool)] = [
        ("timeouts.pool", "| none, but the idle limit if there is no progress |", Timeouts().pool == nil),
        ("timeouts.connect", "| 30 s |", Timeouts().connect == .seconds(30)),
        ("timeouts.idle", "| 60 s |", Timeouts().idle == .seconds(60)),
        ("timeouts.total", "| 10 minutes |", Timeouts().total(isInMemory: true) == .seconds(600)),
        ("one exchange, all other bodies", "| none |", Timeouts().total(isInMemory: false) == nil),
        ("continueTimeout", "| 1 s |", configuration.continueTimeout == .seconds(1)),
        ("maximumResponseBytes", "| 256 MiB |", configuration.maximumResponseBytes == 256 << 20),
        ("maximumResponseHeadBytes", "| 256 KiB |", configuration.maximumResponseHeadBytes == 256 << 10),
        ("body kept by a validation error", "| 64 KiB |", RequestError.bodyLimit == 64 << 10),
        ("bodyHighWatermark", "| 1 MiB |", configuration.bodyHighWatermark == 1 << 20),
        ("connectionLimits.perHost", "| 256 |", ConnectionGate(configuration.connectionLimits).perHost == 256),
        ("connectionLimits.total", "| 1,024 |", ConnectionGate(configuration.connectionLimits).total == 1024),
        ("in the process", "a quarter of its file descriptors", ConnectionBudget(descriptors: 1024).limit == 256),
        ("connectionLimits.idle`", "| 1,024 |", configuration.connectionLimits.idle == 1024),
        ("connectionLimits.idleLifetime", "| 118 s |", configuration.connectionLimits.idleLifetime == .seconds(118)),
        ("redirects followed", "| 20 |", configuration.redirects.maximum == 20),
        ("bodyLowWatermark", "| 256 KiB |", configuration.bodyLowWatermark == 256 << 10),
        ("receiveBufferBytes", "| 64 KiB |", configuration.receiveBufferBytes == 64 << 10),
        ("``RetryPolicy`` |", "2 retries after 0.5 s", RetryPolicy.defaultRetryLimit == 2),
        ("``RetryPolicy`` |", "0.5 s and 1 s", RetryPolicy.defaultExponentialBackoffScale == 0.5),
        ("``RetryPolicy`` |", "at most 30 s", RetryPolicy.defaultMaximumDelay == .seconds(30)),
        ("``RetryPolicy`` |", "up to 60 s", RetryPolicy.defaultMaximumRetryAfter == .seconds(60)),
        ("``RefreshWindow``", "5 refreshes in 30 s", RefreshWindow().maximumAttempts == 5),
        ("``RefreshWindow``", "5 refreshes in 30 s", RefreshWindow().interval == .seconds(30)),
        ("(`pingInterval`)", "| none |", socket.pingInterval == nil && socket.idleTimeout == nil),
        ("(`closeTimeout`)", "| 10 s |", socket.closeTimeout == .seconds(10)),
        ("(`maximumMessageBytes`)", "| 16 MiB |", socket.maximumMessageBytes == 16 << 20),
        ("(`compressesMessages`)", "| offered |", socket.compressesMessages),
    ]

    @Test(arguments: rows)
    func `the article states the default of the code`(row: String, text: String, agrees: Bool) throws {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let article = try String(
            decoding: Data(contentsOf: package.appending(path: "DocC/Bluebonnet.docc/Articles/Defaults.md")),
            as: UTF8.self)
        let lines = article.split(separator: "\n").filter { $0.hasPrefix("|") && $0.contains(row) }
        #expect(lines.count == 1 && lines.allSatisfy { $0.contains(text) }, "\(lines)")
        #expect(agrees)
    }
}
