import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Serialization of downloaded files.
@Suite(.timeLimit(.minutes(10))) struct DownloadSerializerTests {
    private struct Person: Codable, Equatable {
        var name: String
    }

    /// Reads the file, and returns the sizes of the file and of the body.
    private struct Sizes: SynchronousResponseSerializer {
        func serialize(_ input: SerializerInput) throws -> [Int64] {
            let size = input.fileURL.flatMap { FileSystem.status($0.path, followingLinks: false)?.size }
            return [size ?? -1, Int64(input.data.count)]
        }
    }

    /// The same, slowly.
    private struct SlowSizes: ResponseSerializer {
        func serialize(_ input: SerializerInput) async throws -> [Int64] {
            await Task.yield()
            return try Sizes().serialize(input)
        }
    }

    private static func server() async throws -> LocalServer {
        try await LocalServer { router in
            router.get("/person") { _ in .json(Person(name: "Ada")) }
            router.get("/list") { _ in .data(try PropertyListEncoder().encode(Person(name: "Ada"))) }
            router.get("/empty") { _ in .ok }
        }
    }

    @Test(arguments: [true, false])
    func `all serializers of a request read one file`(attachedAfterTheEnd: Bool) async throws {
        let directory = try TestDirectory()
        let server = try await Self.server()
        let session = TestHarness.session()
        let request = session.download(server.url("/person"), to: .file(directory.url("a"))).validate()
        let url = request.serializingURL()
        if attachedAfterTheEnd { _ = try await url.value }
        let tasks = (
            request.serializingData(), request.serializingString(), request.serializingJSON(),
            request.serializingDecodable(Person.self), request.serializingResponse(using: Sizes()),
            request.serializingResponse(using: SlowSizes())
        )
        #expect(try await tasks.0.value == Data(#"{"name":"Ada"}"#.utf8))
        #expect(try await tasks.1.value == #"{"name":"Ada"}"#)
        #expect(try await tasks.2.value == ["name": "Ada"])
        #expect(try await tasks.3.value == Person(name: "Ada"))
        #expect(try await tasks.4.value == [14, 14])
        #expect(try await tasks.5.value == [14, 14])
        #expect(try await url.value == directory.url("a"))
        #expect(try await tasks.0.value == Data(#"{"name":"Ada"}"#.utf8), "and again")
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `a property list is decoded`() async throws {
        let directory = try TestDirectory()
        let server = try await Self.server()
        let session = TestHarness.session()
        let request = session.download(server.url("/list"), to: .file(directory.url("a")))
        let task = request.serializingDecodable(Person.self, decoder: PropertyListDecoder())
        #expect(try await task.value == Person(name: "Ada"))
        try await TestHarness.end(session, server)
    }

    @Test func `a file that cannot be decoded fails only its serializer, and stays`() async throws {
        let directory = try TestDirectory()
        let server = try await Self.server()
        let session = TestHarness.session()
        let request = session.download(server.url("/person"), to: .file(directory.url("a")))
        let answer = await request.serializingDecodable([Int].self).response
        #expect(answer.error?.kind == .serialization(.decodingFailed))
        #expect(answer.fileURL == directory.url("a") && request.error == nil)
        #expect(directory.text("a") == #"{"name":"Ada"}"#)
        let empty = session.download(server.url("/empty"), to: .file(directory.url("empty")))
        #expect(await empty.serializingData().response.error?.kind == .serialization(.inputDataNilOrZeroLength))
        #expect(try await empty.serializingURL().value == directory.url("empty"))
        try await TestHarness.end(session, server)
    }

    @Test func `at most the session's limit is read into memory`() async throws {
        let directory = try TestDirectory()
        let session = TestHarness.session { $0.maximumResponseBytes = 65_536 }
        for (size, isRead) in [(65_536, true), (1_048_576, false)] {
            let file = directory.url("\(size)")
            let request = session.download(try TestServers.nginx.url("/bytes/\(size)"), to: .file(file)).validate()
            let answer = await request.serializingData().response
            #expect(answer.value == (isRead ? Data.pattern(count: size) : nil))
            #expect(answer.error?.kind == (isRead ? nil : .invalidResponse(.bodyTooLarge(limit: 65_536))))
            #expect(try await request.serializingURL().value == file, "on the disk there is room for it")
            expectSame(try Data(contentsOf: file), .pattern(count: size))
        }
        await session.shutdown()
    }

    @Test func `a file that is removed before it is read is a clear error`() async throws {
        let directory = try TestDirectory()
        let server = try await Self.server()
        let session = TestHarness.session()
        let file = directory.url("a")
        let request = session.download(server.url("/person"), to: .file(file))
        _ = try await request.serializingURL().value
        try FileManager.default.removeItem(at: file)
        let error = await request.serializingString().response.error
        #expect(error?.kind == .download(.cannotReadFile(path: file.path)))
        try await TestHarness.end(session, server)
    }
}
