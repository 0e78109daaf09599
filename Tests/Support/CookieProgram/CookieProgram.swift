import Bluebonnet
import FoundationEssentials

/// Loads cookies, sends requests through a proxy, and saves the cookies: `CookieProgram FILE PROXY URL...`.
///
/// Prints the body of each response as a line. The exit code is 0 when all went well.
@main
enum CookieProgram {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 3 else { throw RequestError(.invalidURL) }
        let file = URL(filePath: arguments[1], directoryHint: .notDirectory)
        var configuration = Session.Configuration()
        configuration.proxy = .url(arguments[2])
        // The first process has no cookie file.
        configuration.cookies.initial = (try? Cookie.load(from: file)) ?? []
        let session = Session(configuration: configuration)
        for url in arguments[3...] {
            print(try await session.request(url).serializingString(emptyResponseCodes: [200]).value)
        }
        try await session.cookies.save(to: file)
        await session.shutdown()
    }
}
