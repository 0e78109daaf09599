import BluebonnetCompatibility
import BluebonnetTesting
import Foundation
import FoundationNetworking
import Testing

/// Advanced usage: handling responses, and Swift concurrency; with data of our own.
@Suite(.timeLimit(.minutes(10))) struct ResponseExamples {
    private struct Flower: Codable, Equatable, Sendable {
        var name: String
        var price = 3

        struct Unpriced: Error {}

        func validated() throws -> Int {
            guard price > 0 else { throw Unpriced() }
            return price
        }
    }

    private let url = "http://stub.test/flower"
    private let session = Session(transport: StubTransport { _ in .json(Flower(name: "Iris")) })

    @Test func `Without a serializer, and with one, on a queue`() async throws {
        let data: AFDataResponse<Data?> = await Examples.answer { done in
            session.request(url).response(queue: .main) { done($0) }
        }
        #expect(data.value??.isEmpty == false)
        let file: AFDownloadResponse<URL?> = await Examples.answer { done in
            session.download(url).response(queue: .main) { done($0) }
        }
        let path = try #require(file.value ?? nil)
        try FileManager.default.removeItem(at: path)
        let text: AFDataResponse<String> = await Examples.answer { done in
            session.request(url).response(queue: .global(), responseSerializer: StringResponseSerializer()) { done($0) }
        }
        #expect(text.value?.contains("Iris") == true)
    }

    @Test func `All the built-in handlers, of data and of downloads`() async throws {
        let log = CallLog<String>()
        session.request(url)
            .responseData { log.note("data \($0.error == nil)") }
            .responseString(encoding: .utf8) { log.note("string \($0.error == nil)") }
            .responseJSON(options: .fragmentsAllowed) { log.note("json \($0.error == nil)") }
            .responseDecodable(of: Flower.self, decoder: JSONDecoder()) { log.note("decodable \($0.error == nil)") }
        #expect(await log.wait(for: 4) == ["data true", "string true", "json true", "decodable true"])
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: directory) }
        let destination: DownloadRequest.Destination = { _, _ in
            (directory.appendingPathComponent("flower"), [.createIntermediateDirectories, .removePreviousFile])
        }
        session.download(url, to: destination)
            .responseURL { log.note("url \($0.value?.lastPathComponent ?? "")") }
            .responseData { log.note("data \($0.error == nil)") }
            .responseString { log.note("string \($0.error == nil)") }
            .responseJSON { log.note("json \(($0.value as? [String: Any])?["price"] as? Int ?? 0)") }
            .responseDecodable(of: Flower.self) { log.note("decodable \($0.value?.name ?? "")") }
        #expect(
            await log.wait(for: 9).suffix(5) == ["url flower", "data true", "string true", "json 3", "decodable Iris"])
    }

    @Test func `Transforms`() async {
        let response = await Examples.answer { done in
            session.request(url).responseDecodable(of: Flower.self) { done($0) }
        }
        #expect(response.map { $0.name }.value == "Iris")
        #expect(response.tryMap { try $0.validated() }.value == 3)
        #expect(response.mapError { $0 as any Error }.error == nil)
        #expect(response.tryMapError { $0 }.error == nil)
    }

    private struct CommaSerializer: ResponseSerializer {
        func serialize(
            request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
        ) throws -> [String] {
            let string = try StringResponseSerializer().serialize(
                request: request, response: response, data: data, error: error)

            return string.split(separator: ",").map(String.init)
        }
    }

    @Test func `A custom serializer, for data and downloads`() async throws {
        let session = Session(transport: StubTransport { _ in .text("rose,iris") })
        let data = await Examples.answer { done in
            session.request(url).response(responseSerializer: CommaSerializer()) { done($0) }
        }
        let file = await Examples.answer { done in
            session.download(url).response(responseSerializer: CommaSerializer()) { done($0) }
        }
        #expect(data.value == ["rose", "iris"] && file.value == ["rose", "iris"])
        if let fileURL = file.fileURL { try FileManager.default.removeItem(at: fileURL) }
    }

    // MARK: Streams

    private struct LengthSerializer: DataStreamSerializer {
        func serialize(_ data: Data) throws -> Int { data.count }
    }

    @Test func `Streams`() async {
        let lengths = await Examples.answer { (done: @escaping @Sendable (Int?) -> Void) in
            session.streamRequest(url).responseStream(using: LengthSerializer()) { stream in
                if let length = stream.value { done(length) }
            }
        }
        #expect(lengths ?? 0 > 10)
        let flower = await Examples.answer { done in
            session.streamRequest(url).responseStreamDecodable(of: Flower.self) { stream in
                if let flower = stream.value { done(flower) }
            }
        }
        let same = await Examples.answer { done in
            session.streamRequest(url)
                .responseStream(using: DecodableStreamSerializer<Flower>(decoder: JSONDecoder())) { stream in
                    if let flower = stream.value { done(flower) }
                }
        }
        #expect(flower == Flower(name: "Iris") && same == flower)
    }

    // MARK: Concurrency

    @Test func `Values, responses and results, awaited`() async throws {
        let value = try await session.request(url).serializingDecodable(Flower.self).value
        let dataTask = session.request(url).serializingDecodable(Flower.self)
        let response = await dataTask.response
        let result = await dataTask.result
        #expect(try response.value == value && result.get() == value)

        async let first = session.request(url).serializingDecodable(Flower.self).response
        async let second = session.request(url).serializingString().response
        async let third = session.request(url).serializingData().response
        let responses = await (first, second, third)
        #expect(responses.0.error == nil && responses.1.error == nil && responses.2.error == nil)

        let file = try await session.download(url).serializingURL().value
        try FileManager.default.removeItem(at: file)
    }

    @Test func `Cancelling what is awaited, or not`() async {
        let session = Session(transport: StubTransport { _ in .never })
        let request = session.request(url)
        let task = Task { await request.serializingDecodable(Flower.self, automaticallyCancelling: true).response }
        task.cancel()
        #expect(await task.value.error?.isExplicitlyCancelledError == true && request.isCancelled)
        let kept = session.request(url)
        let other = Task { await kept.serializingDecodable(Flower.self, automaticallyCancelling: false).response }
        other.cancel()
        #expect(!kept.isCancelled)
        kept.cancel()
        _ = await other.value
    }

    @Test func `Streams and curl commands as sequences`() async {
        let streamTask = session.streamRequest(url).streamTask()
        var data = Data()
        for await stream in streamTask.streamingData(automaticallyCancelling: false) {
            if let piece = stream.value { data += piece }
        }
        #expect(!data.isEmpty)
        let request = session.request(url)
        let descriptions = request.cURLDescriptions()
        request.response { _ in }
        for await description in descriptions { #expect(description.hasPrefix("curl")) }
    }
}
