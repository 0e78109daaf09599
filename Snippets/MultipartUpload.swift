// Sends a form with fields and files, and prints the form that the server
// receives.
//
// With a URL as the argument, the program sends the form to this URL and prints
// the response.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum MultipartUpload {
    static func run(_ arguments: [String]) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "Bluebonnet-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let photo = folder.appending(path: "bluebonnet.png")
        try Data(repeating: 0x89, count: 300_000).write(to: photo)

        let server = try await LocalServer { router in
            router.post("/plants") { request in
                let type = request.headers["Content-Type"] ?? ""
                return request.bodyLength > 1_000_000
                    ? .ok : .text("\(type)\n\n\(excerpt(request.body))")
            }
        }
        let url = arguments.first ?? "\(server.url("/plants"))"
        let session = Session()
        print(try await plant(photo, session, url))
        try await prepared(photo, session, url)
        await missing(folder.appending(path: "none.png"), session, url)
        await session.shutdown()
    }

    static func plant(_ photo: URL, _ session: Session, _ url: String)
        async throws
        -> String
    {
        // snippet.form
        let request = session.upload(
            multipartFormData: { form in
                form.append("Texas bluebonnet", withName: "name")
                form.append(
                    Data(#"{"petals": 5}"#.utf8), withName: "facts",
                    mimeType: "application/json")
                // Uses the file's name and type.
                form.append(photo, withName: "photo")
            }, to: url)
        let answer = try await request.validate().serializingString().value
        // snippet.end
        return answer
    }

    static func prepared(_ photo: URL, _ session: Session, _ url: String)
        async throws
    {
        // snippet.parts
        var form = MultipartFormData()
        form.append(
            photo, withName: "photo", fileName: #"the "blue" one.png"#,
            mimeType: "image/png",
            headers: ["Content-Language": "en"])
        form.append(
            length: 5_000_000, withName: "log", fileName: "log.txt",
            mimeType: "text/plain"
        ) { Lines() }
        let length = form.contentLength ?? 0
        print("\(length) bytes; it can be sent again: \(form.isReplayable)")
        let request = session.upload(multipartFormData: form, to: url)
            .validate()
        let status = await request.serializingData()
            .response.statusCode
        // snippet.end
        print(
            "Sent \(request.uploadProgress.completed) of them: \(status ?? 0)")
    }

    static func missing(_ file: URL, _ session: Session, _ url: String) async {
        // snippet.missing
        var form = MultipartFormData()
        form.append(file, withName: "photo")
        let error = await session.upload(multipartFormData: form, to: url)
            .serializingData().response.error
        if case .multipartEncoding(.bodyPartFileNotReachable) = error?.kind {
            print("A file that is not there is an error, and nothing is sent.")
        }
        // snippet.end
    }

    /// Returns the lines of a form without the bytes of its files.
    static func excerpt(_ body: Data) -> String {
        let lines = String(decoding: body, as: UTF8.self).split(
            separator: "\r\n", omittingEmptySubsequences: false)
        return lines.map { line in
            "  | \(line.utf8.count < 200 ? String(line) : "… \(line.count) bytes …")"
        }.joined(separator: "\n")
    }
}

/// Five million bytes of text.
struct Lines: AsyncSequence, Sendable {
    func makeAsyncIterator() -> Iterator { Iterator() }

    struct Iterator: AsyncIteratorProtocol {
        var count = 0

        mutating func next() async -> Data? {
            guard count < 50 else { return nil }
            count += 1
            return Data(repeating: UInt8(ascii: "="), count: 100_000)
        }
    }
}

try await MultipartUpload.run(Array(CommandLine.arguments.dropFirst()))
