import BluebonnetFoundation
import BluebonnetTesting
import Foundation
import Testing

/// What the tests of this module share.
enum Scene {
    /// Makes a session with limits that keep a test from hanging, and without a proxy.
    static func session(_ configure: (inout Session.Configuration) -> Void = { _ in }) -> Session {
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.timeouts = Timeouts(connect: .seconds(20), idle: .seconds(20))
        configure(&configuration)
        return Session(configuration: configuration)
    }

    static func url(_ text: String = "http://example.com/a") throws -> URL { try #require(URL(string: text)) }

    /// Bytes of which none of the first thousands looks like its neighbours.
    static func bytes(_ count: Int) -> Data { Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }) }

    /// Runs what blocks on a thread of its own.
    static func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: body()) }.start()
        }
    }
}

/// What httpbin says of a request.
struct Echo: Decodable {
    let args: [String: String]?
    let data: String?
    let form: [String: String]?
    let headers: [String: String]
    let method: String?
    let url: String
}
