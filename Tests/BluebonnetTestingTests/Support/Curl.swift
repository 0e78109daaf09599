import Foundation
import TestSupport

/// Runs the `curl` command.
struct Curl {
    /// Its exit code; 0 for success.
    let code: Int32
    /// The body that it received.
    let output: String
    /// Status, content type and length of the body.
    let head: String

    /// Everything in one line.
    var summary: String { "\(head) \(output)" }

    static func run(_ arguments: [String], _ url: String) async throws -> Curl {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("curl-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let body = directory.appendingPathComponent("body")
        let head = directory.appendingPathComponent("head")
        let outcome = try await Subprocess.run(
            "/usr/bin/curl",
            [
                "--silent", "--max-time", "50", "--noproxy", "*", "--output", body.path, "--write-out",
                "%{http_code} %{content_type} %{size_download}",
            ] + arguments + [url])
        try outcome.output.write(to: head)
        let code = outcome.code
        return Curl(code: code, output: text(of: body), head: text(of: head))
    }

    private static func text(of file: URL) -> String {
        String(decoding: (try? Data(contentsOf: file)) ?? Data(), as: UTF8.self)
    }
}
