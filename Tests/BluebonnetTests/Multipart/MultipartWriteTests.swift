import Foundation
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct MultipartWriteTests {
    private let folder: FormFolder
    private let output: URL

    init() throws {
        folder = try FormFolder()
        output = folder.url.appending(path: "output")
    }

    private func error(writing form: MultipartFormData, to url: URL) async -> RequestError? {
        await #expect(throws: RequestError.self) { try await form.write(to: url) }
    }

    @Test func `a written file equals the encoded form`() async throws {
        let file = try folder.file("a.bin", patterned(700_000))
        var form = MultipartFormData()
        form.append("x", withName: "a")
        form.append(file, withName: "b")
        form.append(withName: "c") { Chunks([Data(count: 100_000), bytes("y")]) }
        try await form.write(to: output)
        #expect(try await Data(contentsOf: output) == form.encode())
        #expect(try folder.openDescriptors == 0)
    }

    @Test func `an existing file stays, and a sequence that can be read once is not consumed`() async throws {
        let file = try folder.file("there", bytes("old"))
        var form = MultipartFormData()
        form.append(Chunks([bytes("x")]), withName: "a")
        let path = file.path(percentEncoded: false)
        #expect(await error(writing: form, to: file)?.kind == .multipartEncoding(.outputFileAlreadyExists(path)))
        #expect(try Data(contentsOf: file) == bytes("old"))
        try await form.write(to: output)
        #expect(try Data(contentsOf: output).count > 0)
    }

    @Test func `a broken link counts as an existing file`() async throws {
        try FileManager.default.createSymbolicLink(at: output, withDestinationURL: folder.url.appending(path: "else"))
        let path = output.path(percentEncoded: false)
        let error = await error(writing: MultipartFormData(), to: output)
        #expect(error?.kind == .multipartEncoding(.outputFileAlreadyExists(path)))
        #expect(try folder.names == ["output"])
    }

    @Test func `a URL that is not a file URL is refused`() async throws {
        let url = try #require(URL(string: "https://u:p@h/x?key=secret"))
        let kind = RequestError.Kind.multipartEncoding(.outputFileURLInvalid("https://h/x?key=<redacted>"))
        #expect(await error(writing: MultipartFormData(), to: url)?.kind == kind)
    }

    @Test func `a file that cannot be created is an error with the reason`() async {
        let url = folder.url.appending(path: "no/such/folder")
        let error = await error(writing: MultipartFormData(), to: url)
        #expect(error?.kind == .multipartEncoding(.outputFileWriteFailed(url.path(percentEncoded: false))))
        #expect(error?.detail == "No such file or directory")
    }

    @Test func `a form that fails leaves no file behind`() async throws {
        var failing = MultipartFormData()
        failing.append(Data(count: 500_000), withName: "a")
        failing.append(Chunks([Data(count: 100_000)], fails: true), withName: "b")
        var missing = MultipartFormData()
        missing.append(folder.url.appending(path: "missing"), withName: "a")
        for form in [failing, missing, MultipartFormData(boundary: "")] {
            #expect(await error(writing: form, to: output) != nil)
            #expect(try folder.names == [])
            #expect(try folder.openDescriptors == 0)
        }
    }

    @Test func `a cancelled task writes nothing`() async throws {
        var form = MultipartFormData()
        form.append("x", withName: "a")
        let task = Task { [form, output] in
            cancelCurrentTask()
            return await error(writing: form, to: output)?.kind
        }
        let kind = await task.value
        #expect(kind == .cancelled)
        #expect(try folder.names == [])
    }

    @Test @MainActor func `the caller's actor is not blocked`() async throws {
        var form = MultipartFormData()
        form.append(withName: "a") {
            #expect(!Thread.isMainThread)
            return Chunks([bytes("x")])
        }
        _ = try await form.encode()
        try await form.write(to: output)
    }
}
