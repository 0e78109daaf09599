import Foundation
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct MultipartErrorTests {
    private let folder: FormFolder

    init() throws {
        folder = try FormFolder()
    }

    private func path(_ name: String) -> String { folder.url.appending(path: name).path(percentEncoded: false) }

    private func error(of form: MultipartFormData) async -> RequestError? {
        await #expect(throws: RequestError.self) { try await form.encode() }
    }

    /// Reads until the form fails; returns the bytes before the failure.
    private func failure(of reader: FormReading) async -> (error: RequestError?, bytes: Data) {
        var received = Data()
        do {
            while let piece = try await reader.next() { received += piece }
            return (nil, received)
        } catch {
            return (error as? RequestError, received)
        }
    }

    // MARK: Files

    @Test func `a URL that is not a file URL is refused without its secrets`() async throws {
        var form = MultipartFormData()
        form.append(try #require(URL(string: "https://u:p@h/a.txt?key=secret")), withName: "a")
        #expect(
            await error(of: form)?.kind == .multipartEncoding(.bodyPartURLInvalid("https://h/a.txt?key=<redacted>")))
    }

    @Test func `a URL without a last component has no file name`() async throws {
        var form = MultipartFormData()
        form.append(URL(filePath: "/"), withName: "a")
        #expect(await error(of: form)?.kind == .multipartEncoding(.bodyPartFilenameInvalid("file:///")))
        form = MultipartFormData()
        form.append(URL(filePath: "/"), withName: "a", fileName: "f", mimeType: "x/y")
        #expect(await error(of: form)?.kind == .multipartEncoding(.bodyPartFileIsDirectory("/")))
    }

    @Test func `a missing file cannot be reached`() async throws {
        let file = try folder.file("a", Data())
        for name in ["missing", "a/b", String(repeating: "n", count: 300)] {
            var form = MultipartFormData()
            form.append(folder.url.appending(path: name), withName: "a")
            let error = await error(of: form)
            #expect(error?.kind == .multipartEncoding(.bodyPartFileNotReachable(path(name))))
            #expect(error?.detail?.isEmpty == false)
        }
        #expect(FileManager.default.fileExists(atPath: file.path))
    }

    @Test func `a directory is not a file`() async throws {
        var form = MultipartFormData()
        form.append(folder.url, withName: "a", fileName: "f", mimeType: "x/y")
        let path = folder.url.path(percentEncoded: false)
        #expect(await error(of: form)?.kind == .multipartEncoding(.bodyPartFileIsDirectory(path)))
    }

    @Test func `a file that is not regular cannot be read and is not waited for`() async throws {
        let pipe = path("pipe")
        #expect(unsafe mkfifo(pipe, 0o600) == 0)
        for path in [pipe, "/dev/zero"] {
            var form = MultipartFormData()
            form.append(URL(filePath: path), withName: "a")
            #expect(await error(of: form)?.kind == .multipartEncoding(.bodyPartFileUnreadable(path)))
        }
    }

    @Test func `a file that cannot be read fails with the system's error`() async {
        // Regular, can be opened, has no length, and nothing at its beginning.
        var form = MultipartFormData()
        form.append(URL(filePath: "/proc/self/mem"), withName: "a")
        let error = await error(of: form)
        #expect(error?.kind == .multipartEncoding(.bodyPartFileUnreadable("/proc/self/mem")))
        #expect(error?.detail == "Input/output error")
    }

    @Test func `the first invalid part is reported`() async throws {
        var form = MultipartFormData()
        form.append("x", withName: "fine")
        form.append(URL(filePath: "/"), withName: "a")
        form.append("x", withName: "\0")
        #expect(await error(of: form)?.kind == .multipartEncoding(.bodyPartFilenameInvalid("file:///")))
        form.append("x", withName: "fine")
        #expect(throws: RequestError.self) { try form.length() }
        #expect(form.contentLength == nil)
    }

    @Test(arguments: [1, 100_000, 262_144, 262_145, 1_000_000])
    func `a file that grows is never sent completely`(size: Int) async throws {
        let file = try folder.file("a", Data(count: size))
        var form = MultipartFormData()
        form.append(file, withName: "a")
        let length = try #require(try form.length())
        let reader = try FormReading(form)
        let handle = try FileHandle(forWritingTo: file)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(count: 100_000))
        let (error, received) = await failure(of: reader)
        let kind = RequestError.MultipartEncodingReason.bodyPartLengthMismatch(
            name: "a", expected: Int64(size), actual: Int64(size + 100_000))
        #expect(error?.kind == .multipartEncoding(kind))
        #expect(received.count < length)
        #expect(try folder.openDescriptors == 1)
        try handle.close()
    }

    @Test func `a file that changes its size is never sent completely`() async throws {
        for (size, expected) in [(900_000, 800_001), (300_000, 300_000)] {
            let file = try folder.file("a", Data(count: 800_000))
            var form = MultipartFormData()
            form.append(file, withName: "a")
            let length = try #require(try form.length())
            let reader = try FormReading(form)
            for _ in 0..<2 { _ = try await reader.next() }
            let handle = try FileHandle(forWritingTo: file)
            try handle.truncate(atOffset: UInt64(size))
            try handle.close()
            let (error, received) = await failure(of: reader)
            let actual = size > 800_000 ? Int64(size) : Int64(expected)
            let kind = RequestError.MultipartEncodingReason.bodyPartLengthMismatch(
                name: "a", expected: 800_000, actual: actual)
            #expect(error?.kind == .multipartEncoding(kind))
            #expect(Int64(received.count) < length)
            #expect(try folder.openDescriptors == 0)
        }
    }

    @Test func `a file that is replaced or removed before its turn is noticed`() async throws {
        let file = try folder.file("a", Data(count: 10))
        var form = MultipartFormData()
        form.append(file, withName: "a")
        let first = try FormReading(form)
        let second = try FormReading(form)
        try Data(count: 9).write(to: file, options: .atomic)
        let mismatch = RequestError.MultipartEncodingReason.bodyPartLengthMismatch(name: "a", expected: 10, actual: 9)
        #expect(await failure(of: first).error?.kind == .multipartEncoding(mismatch))
        try FileManager.default.removeItem(at: file)
        #expect(await failure(of: second).error?.kind == .multipartEncoding(.bodyPartFileNotReachable(path("a"))))
    }

    // MARK: Sequences

    @Test(arguments: [
        (3, ["ab"], 2), (3, [], 0), (3, ["ab", "cd"], 4), (3, ["abcd"], 4), (0, ["a"], 1), (3, ["abc", "", "d"], 4),
        (-1, [], 0),
    ])
    func `a sequence has the stated number of bytes`(length: Int64, chunks: [String], actual: Int64) async throws {
        var form = MultipartFormData()
        form.append("x", withName: "a")
        form.append(length: length, withName: "b") { Chunks(chunks.map { bytes($0) }) }
        let kind = RequestError.MultipartEncodingReason.bodyPartLengthMismatch(
            name: "b", expected: length, actual: actual)
        #expect(await error(of: form)?.kind == .multipartEncoding(kind))
        guard length >= 0 else { return }
        let announced = try #require(try form.length())
        let reader = try FormReading(form)
        #expect(await failure(of: reader).bytes.count < announced)
    }

    @Test(arguments: [1, 1000, 100_000])
    func `an endless sequence is stopped at its stated length`(size: Int) async throws {
        var form = MultipartFormData()
        form.append(length: 1500, withName: "a") { Chunks(Array(repeating: Data(count: size), count: 5000)) }
        let announced = try #require(try form.length())
        let (error, received) = await failure(of: try FormReading(form))
        let actual = Int64((1500 / size + 1) * size)
        let kind = RequestError.MultipartEncodingReason.bodyPartLengthMismatch(
            name: "a", expected: 1500, actual: actual)
        #expect(error?.kind == .multipartEncoding(kind))
        #expect(received.count < announced)
    }

    @Test func `an error that a sequence throws is the underlying error`() async {
        var form = MultipartFormData()
        form.append(Chunks([bytes("x")], fails: true), withName: "a")
        let error = await error(of: form)
        #expect(error?.kind == .multipartEncoding(.bodyPartSequenceFailed(name: "a")))
        #expect(error?.underlying is Chunks<Data>.Odd)
    }

    @Test func `a sequence that was appended directly is read once by any copy`() async throws {
        var form = MultipartFormData()
        form.append(Chunks([bytes("x")]), withName: "a")
        let copy = form
        #expect(!form.isReplayable)
        _ = try await form.encode()
        for form in [form, copy] {
            #expect(await error(of: form)?.kind == .multipartEncoding(.bodyPartNotReplayable(name: "a")))
        }
    }

    @Test func `a form that is opened but not read can be opened again, and is read once`() async throws {
        var form = MultipartFormData()
        form.append("x", withName: "a")
        form.append(Chunks([bytes("x")]), withName: "b")
        let late = try FormReading(form)
        _ = try form.open()
        #expect(try await form.encode().count > 0)
        let error = await #expect(throws: RequestError.self) { try await late.next() }
        #expect(error?.kind == .multipartEncoding(.bodyPartNotReplayable(name: "b")))
    }

    @Test func `a form that cannot be opened does not consume its sequences`() async throws {
        let file = folder.url.appending(path: "late")
        var form = MultipartFormData()
        form.append(Chunks([bytes("x")]), withName: "a")
        form.append(file, withName: "b")
        #expect(await error(of: form)?.kind == .multipartEncoding(.bodyPartFileNotReachable(path("late"))))
        _ = form.contentLength
        try bytes("y").write(to: file)
        #expect(try await form.encode().count > 0)
    }

    // MARK: Cancellation

    @Test func `a sequence that waits is cancelled with its task`() async throws {
        let (stream, source) = AsyncStream<Data>.makeStream()
        source.yield(bytes("x"))
        var form = MultipartFormData()
        form.append(stream, withName: "a")
        let task = Task { [form] in await error(of: form)?.kind }
        task.cancel()
        #expect(await task.value == .cancelled)
        source.finish()
    }

    @Test func `an error that a cancelled sequence throws is a cancellation`() async {
        struct Cancelled: AsyncSequence, AsyncIteratorProtocol, Sendable {
            func makeAsyncIterator() -> Cancelled { self }
            func next() async throws -> Data? { throw CancellationError() }
        }
        var form = MultipartFormData()
        form.append(Cancelled(), withName: "a")
        #expect(await error(of: form)?.kind == .cancelled)
    }

    @Test func `an error that the cancellation causes is the underlying error of the cancellation`() async {
        struct Cancelled: AsyncSequence, AsyncIteratorProtocol, Sendable {
            func makeAsyncIterator() -> Cancelled { self }
            func next() async throws -> Data? {
                cancelCurrentTask()
                throw Chunks<Data>.Odd()
            }
        }
        var form = MultipartFormData()
        form.append(Cancelled(), withName: "a")
        let task = Task { [form] in await error(of: form) }
        let outcome = await task.value
        #expect(outcome?.kind == .cancelled)
        #expect(outcome?.underlying is Chunks<Data>.Odd)
    }

    @Test func `a sequence that ends because it is cancelled is not complete`() async {
        let (stream, _) = AsyncStream<Data>.makeStream()
        let task = Task {
            cancelCurrentTask()
            var reader = SequenceReader(stream)
            return await #expect(throws: CancellationError.self) { try await reader.next() }
        }
        #expect(await task.value != nil)
    }
}
