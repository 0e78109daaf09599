import Bluebonnet
import FoundationEssentials

/// Downloads a file, resuming the partial file of an earlier process: `DownloadProgram URL FILE`.
///
/// Prints the `Range` of each sent request, or `all` for a request without a `Range`. The exit code is 0 if the file is
/// complete.
/// With `DownloadProgram URL FILE "" PARTS`, it downloads the parts in parallel, and prints nothing.
@main
enum DownloadProgram {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 2 else { throw RequestError(.invalidURL) }
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.tls.caFile = arguments.count > 3 && !arguments[3].isEmpty ? arguments[3] : nil
        let session = Session(configuration: configuration)
        let file = URL(filePath: arguments[2], directoryHint: .notDirectory)
        if arguments.count > 4, let parts = Int(arguments[4]) {
            _ = try await session.parallelDownload(arguments[1], to: file, options: .removePreviousFile, parts: parts)
            return await session.shutdown()
        }
        let request = session.download(
            arguments[1], to: .file(file, options: [.automaticallyResume, .removePreviousFile])
        )
        .validate()
        _ = try await request.serializingURL().value
        for sent in request.requests { print(sent.headers["Range"] ?? "all") }
        await session.shutdown()
    }
}
