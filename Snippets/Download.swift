// Downloads a file with a progress bar. After ^C, the next run resumes the
// download.
//
// The arguments are a URL and the path of the file. Without arguments, the
// program starts a server, downloads from it, interrupts the download, and
// resumes it.

import Bluebonnet
import BluebonnetTesting
import Dispatch
import FoundationEssentials
import Glibc

enum Download {
    /// Downloads to a file, and cancels the download when its progress reaches
    /// `part`.
    static func download(
        _ url: any URLConvertible, to file: URL, _ session: Session,
        interruptedAt part: Double = .infinity
    ) async -> DownloadResponse<URL, RequestError> {
        // snippet.download
        let request = session.download(
            url, to: .file(file, options: .automaticallyResume)
        ).validate()
        let interrupts = interrupts { request.cancel() }
        let task = request.serializingURL()
        for await progress in request.downloadProgressUpdates() {
            ProgressBar.draw(progress)
            // snippet.hide
            if progress.fractionCompleted ?? 0 >= part { request.cancel() }
            // snippet.show
        }
        let response = await task.response
        // snippet.end
        ProgressBar.end(request.downloadProgress)
        interrupts.cancel()
        return response
    }

    // snippet.interrupts
    /// Calls a closure on ^C, and keeps the program running.
    static func interrupts(_ perform: @escaping @Sendable () -> Void)
        -> any DispatchSourceSignal
    {
        signal(SIGINT, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGINT)
        source.setEventHandler(handler: perform)
        source.resume()
        return source
    }
    // snippet.end

    // MARK: With arguments

    static func fetch(_ address: String, _ path: String?) async -> Int32 {
        let name = path ?? URL(string: address)?.lastPathComponent ?? ""
        let file = URL(
            filePath: name.isEmpty || name == "/" ? "download" : name)
        let session = Session()
        let response = await download(address, to: file, session)
        await session.shutdown()
        switch response.result {
        case .success(let url):
            print("saved as \(url.lastPathComponent)")
            return 0
        case .failure(let error):
            print(error.isCancellation ? "interrupted" : "error: \(error)")
            if response.resumeData != nil {
                print("The partial file was kept: the same command resumes it.")
            }
            return error.isCancellation ? 130 : 1
        }
    }

    // MARK: Without arguments

    static func demonstrate() async throws {
        let film = Film()
        let server = try await LocalServer { router in
            router.get("/film") { film.response(to: $0) }
        }
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "Bluebonnet-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "film")
        let session = Session()

        print("A download that is interrupted, as by ^C:")
        let first = await download(
            server.url("/film"), to: file, session, interruptedAt: 0.4)
        print(first.error.map { "\($0.kind)" } ?? "not interrupted")
        print("in the folder: \(try contents(of: folder))\n")

        print("The same once more:")
        let second = await download(server.url("/film"), to: file, session)
        print("asked for: \(second.request?.headers["Range"] ?? "all of it")")
        print(
            "answered with: \(second.response?.headers["Content-Range"] ?? "all of it")"
        )
        print("in the folder: \(try contents(of: folder))")
        print(
            "every byte is in its place: \(try Data(contentsOf: file) == film.bytes)\n"
        )

        try await resume(session, server.url("/film"), film)
        await session.shutdown()
    }

    static func resume(_ session: Session, _ url: URL, _ film: Film)
        async throws
    {
        // snippet.resume-data
        let request = session.download(url)
            .validate()  // to the temporary directory
        let task = request.serializingURL()
        for await progress in request.downloadProgressUpdates()
        where progress.completed >= 1_000_000 {
            request.cancel()
        }
        // Store the data anywhere. The data can be used while the partial file
        // exists.
        guard let resumeData = await task.response.resumeData else {
            return print("nothing to resume")
        }
        let whole = session.download(resumingWith: resumeData).validate()
        let file = try await whole.serializingURL().value
        // snippet.end
        print(
            "A download to the temporary directory, resumed with \(resumeData.count) bytes of resume data:"
        )
        print("asked for: \(whole.request?.headers["Range"] ?? "all of it")")
        print(
            "every byte is in its place: \(try Data(contentsOf: file) == film.bytes)"
        )
        try FileManager.default.removeItem(at: file)
    }

    static func contents(of folder: URL) throws -> String {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .sorted()
            .joined(separator: ", ")
    }
}

// snippet.hide

/// A resource of the server, which is sent slowly and supports range requests.
struct Film: Sendable {
    let bytes = (0..<600).reduce(into: Data()) {
        $0.append(Data(repeating: UInt8($1 % 251), count: 10_000))
    }

    func response(to request: LocalServer.Request) -> LocalServer.Response {
        // The range, such as "bytes=2345-", applies only if the resource has
        // not changed.
        let isUnchanged =
            request.headers["If-Range"].map { $0 == #""film-1""# } ?? true
        let range = isUnchanged ? request.headers["Range"] : nil
        let start =
            range.flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0
        var headers: HTTPHeaders = [
            "ETag": #""film-1""#, "Content-Type": "video/mp4",
        ]
        if range != nil {
            headers.update(
                name: "Content-Range",
                value: "bytes \(start)-\(bytes.count - 1)/\(bytes.count)")
        }
        return .stream(
            status: range == nil ? 200 : 206, headers: headers,
            length: bytes.count - start
        ) { writer in
            for position in stride(from: start, to: bytes.count, by: 50_000) {
                try await writer.write(
                    bytes[position..<min(position + 50_000, bytes.count)])
                try await Task.sleep(for: .milliseconds(8))
            }
        }
    }
}

/// Shows the progress of a body in a line that is updated; without a terminal,
/// prints the line once at the end.
enum ProgressBar {
    static let isTerminal = isatty(STDOUT_FILENO) == 1
    static let width = 30

    static func draw(_ progress: TransferProgress) {
        guard isTerminal else { return }
        print("\r\(line(for: progress))\u{1B}[K", terminator: "")
        fflush(nil)
    }

    static func end(_ progress: TransferProgress) {
        guard progress.completed > 0 else { return }
        print(
            "\(isTerminal ? "\r" : "")\(line(for: progress))\(isTerminal ? "\u{1B}[K" : "")"
        )
    }

    static func line(for progress: TransferProgress) -> String {
        let completed = megabytes(Double(progress.completed))
        let rate = progress.bytesPerSecond.map { "  \(megabytes($0))/s" } ?? ""
        guard let total = progress.total, let part = progress.fractionCompleted
        else { return "\(completed)\(rate)" }
        let full = Int(part * Double(width))
        let bar =
            String(repeating: "━", count: full)
            + String(repeating: "·", count: width - full)
        let left =
            progress.estimatedTimeRemaining.map { "  \(time($0)) left" } ?? ""
        return
            "\(bar) \(Int(part * 100)) %  \(completed) of \(megabytes(Double(total)))\(rate)\(left)"
    }

    static func megabytes(_ bytes: Double) -> String {
        "\((bytes / 100_000).rounded(.down) / 10) MB"
    }

    static func time(_ duration: Duration) -> String {
        let seconds = Int((duration / .seconds(1)).rounded(.up))
        let rest = seconds % 60
        return "\(seconds / 60):\(rest < 10 ? "0" : "")\(rest)"
    }
}

// snippet.show

let arguments = CommandLine.arguments.dropFirst()
if let address = arguments.first {
    exit(await Download.fetch(address, arguments.dropFirst().first))
} else {
    try await Download.demonstrate()
}
