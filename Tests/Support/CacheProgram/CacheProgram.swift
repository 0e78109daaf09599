import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Glibc

/// Stores and uses responses in a directory until a file exists: `CacheProgram DIRECTORY STARTED STOP`.
///
/// Creates the file STARTED after its first response. The exit code is 1 if a body is wrong or truncated, and 0 if the
/// file STOP exists.
@main
enum CacheProgram {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4 else { throw RequestError(.invalidURL) }
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache(
            memoryCapacity: 100_000, diskCapacity: 8 << 20, directory: URL(filePath: arguments[1]))
        let transport = StubTransport { request in
            .text(body(of: request.url.path()), headers: ["Cache-Control": "max-age=600"])
        }
        let session = Session(configuration: configuration, transport: transport)
        var isFirst = true
        // A test that is killed cannot end this program.
        let end = ContinuousClock.now + .seconds(300)
        while ContinuousClock.now < end, (try? Data(contentsOf: URL(filePath: arguments[3]))) == nil {
            var request = try HTTPRequest(url: "http://stub.test/\(Int.random(in: 0..<20))")
            if Bool.random() { request.cachePolicy = .reloadIgnoringCache }
            let text = try await session.request(request).serializingString().value
            guard isRight(text, for: request.url.path()) else {
                print("wrong: \(text.prefix(40)) with \(text.utf8.count) bytes for \(request.url)")
                exit(1)
            }
            if isFirst { try Data().write(to: URL(filePath: arguments[2])) }
            isFirst = false
        }
        await session.shutdown()
    }

    /// A body with its own path and length.
    private static func body(of path: String) -> String {
        let letter = ["a", "b", "c"].randomElement() ?? "a"
        let rest = String(repeating: letter, count: [10, 5000, 300_000].randomElement() ?? 10)
        return "\(path) \(rest.utf8.count) \(rest)"
    }

    private static func isRight(_ text: String, for path: String) -> Bool {
        let parts = text.utf8.split(separator: 0x20)
        guard parts.count == 3, let first = parts[2].first, String(Substring(parts[0])) == path else { return false }
        return String(parts[2].count) == String(Substring(parts[1])) && parts[2].allSatisfy { $0 == first }
    }
}
