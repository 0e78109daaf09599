import BluebonnetFoundation
import BluebonnetTesting
import Foundation
import Testing

/// The shared parts of this module's tests.
enum FoundationFixture {
    /// Creates a session without a proxy, with timeouts that prevent a test from hanging.
    static func session(_ configure: (inout Session.Configuration) -> Void = { _ in }) -> Session {
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.timeouts = Timeouts(connect: .seconds(120), idle: .seconds(120))
        configure(&configuration)
        return Session(configuration: configuration)
    }

    static func url(_ text: String = "http://example.com/a") throws -> URL { try #require(URL(string: text)) }

    /// Bytes that do not repeat themselves where pieces, whose sizes are powers of two, begin.
    static func bytes(_ count: Int) -> Data {
        var data = Data(capacity: count + pattern.count)
        while data.count < count { data.append(pattern) }
        return data.prefix(count)
    }

    private static let pattern = Data((0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })

    /// Runs a blocking closure on its own thread.
    static func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: body()) }.start()
        }
    }
}

/// A request as httpbin echoes it.
struct Echo: Decodable {
    let args: [String: Texts]?
    let data: String?
    let form: [String: Texts]?
    let headers: [String: String]
    let method: String?
    let url: String

    /// The values of a name, of which httpbin makes a list when there are several.
    struct Texts: Decodable, Equatable, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
        let texts: [String]

        init(stringLiteral text: String) { texts = [text] }

        init(arrayLiteral texts: String...) { self.texts = texts }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            texts = try (try? container.decode([String].self)) ?? [container.decode(String.self)]
        }
    }
}
