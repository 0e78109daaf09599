import BluebonnetTesting
import Foundation
import FoundationNetworking
import Testing

@testable import BluebonnetCallbacks

@Suite(.timeLimit(.minutes(10))) struct EventHandlerTests {
    private let queue = DispatchQueue(label: "events")
    private let url = "http://stub.test/bed"

    @Test func `All progress and all requests are reported before the response`() async {
        let number = Counter()
        let session = Session(
            transport: StubTransport { _ in number.next() < 3 ? .status(500) : .text("1234567890") })
        let log = CallLog<String>()
        session.request(url)
            .onURLRequestCreation(on: queue) { log.note("request \($0.url?.path ?? "")") }
            .downloadProgress(queue: queue) { progress in
                if progress.isFinished { log.note("progress \(progress.completedUnitCount)") }
            }
            .validate().retry(using: Retrier { _, _, _ in .retry })
            .response(queue: queue) { _ in log.note("response") }
        let entries = await log.wait(for: 5)
        #expect(entries.filter { $0 == "request /bed" }.count == 3)
        #expect(entries.filter { $0 == "progress 10" }.count == 1)
        #expect(entries.last == "response")
    }

    @Test func `Upload progress is reported in separate objects, including the last progress`() async throws {
        let server = try await LocalServer { router in
            router.post("/") { request in .text("\(request.body.count)") }
        }
        let log = CallLog<Progress?>()
        let session = Session()
        session.upload(Data(count: 3_000_000), to: server.url)
            .uploadProgress(queue: queue) { log.note($0) }
            .uploadProgress(queue: queue) { _ in }
            .responseString(queue: queue) { response in
                #expect(response.value == "3000000")
                log.note(nil)
            }
        var entries: [Progress?] = []
        repeat { entries = await log.wait(for: entries.count + 1) } while entries.last != .some(nil)
        let values = entries.compactMap { $0 }
        #expect(values.last?.completedUnitCount == 3_000_000 && values.last?.fractionCompleted == 1)
        #expect(values.map(\.completedUnitCount) == values.map(\.completedUnitCount).sorted())
        await session.shutdown()
    }

    @Test func `A handler refuses a head, also by releasing its completion handler`() async {
        let session = Session(transport: StubTransport { _ in .text("body") })
        let log = CallLog<String>()
        session.request(url)
            .onHTTPResponse(on: queue) { response, completion in
                log.note("\(response.statusCode)")
                completion(.allow)
                completion(.cancel)
            }
            .responseString(queue: queue) { log.note($0.value ?? "") }
        #expect(await log.wait(for: 2) == ["200", "body"])
        session.request(url)
            .onHTTPResponse(on: queue) { _, completion in completion(.cancel) }
            .response(queue: queue) { log.note("\($0.error?.isExplicitlyCancelledError ?? false)") }
        #expect(await log.wait(for: 3).last == "true")
        session.request(url)
            .onHTTPResponse(on: queue) { _, _ in }
            .response(queue: queue) { log.note("\($0.error?.isExplicitlyCancelledError ?? false) again") }
        #expect(await log.wait(for: 4).last == "true again")
    }

    @Test func `A curl command is reported once, even for a request that cannot be created`() async {
        let session = Session(transport: StubTransport { _ in .ok })
        let log = CallLog<String>()
        session.request(url).cURLDescription { log.note($0) }.response(queue: queue) { _ in }
        let command = await log.wait(for: 1).first
        #expect(command?.hasPrefix("curl") == true && command?.contains("stub.test/bed") == true)
        session.request("no URL at all").cURLDescription(on: queue) { log.note($0) }.response(queue: queue) { _ in }
        #expect(await log.wait(for: 2).last?.hasPrefix("#") == true)
        do { _ = session.request(url).cURLDescription(on: queue) { log.note($0) } }
        // The request was released before its start.
        #expect(await log.wait(for: 3).count == 3)
    }

    /// The monitor's method for responses without a serializer has a value that is an optional.
    @Test func `A handler of a download without a serializer is reported as in Alamofire`() async throws {
        let server = try await LocalServer { router in router.get("/seeds", .text("seeds")) }
        let (monitored, handled) = (CallLog<URL?>(), CallLog<URL?>())
        let monitor = ClosureEventMonitor()
        monitor.requestDidParseDownloadResponse = { _, response in monitored.note(response.value ?? nil) }
        let session = Session(eventMonitors: [monitor])
        let request = session.download(server.url("/seeds"))
        request.response(queue: queue) { handled.note($0.value ?? nil) }
        let file = try #require(await handled.wait(for: 1).first ?? nil)
        await session.shutdown()
        #expect(file == request.fileURL && monitored.entries == [file])
        try FileManager.default.removeItem(at: file)
        await server.stop()
    }

    @Test func `A cancelled download passes its resume data to the handler`() async throws {
        let body = Data(repeating: 7, count: 400_000)
        let server = try await LocalServer { router in
            router.get("/seeds") { _ in
                .script(
                    .bytes("HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: 400000\r\n\r\n"),
                    .bytes(body.prefix(100_000)), .stall)
            }
        }
        let session = Session()
        let log = CallLog<Bool>()
        let request = session.download(server.url("/seeds"))
        request.response(queue: queue) { log.note($0.error?.isExplicitlyCancelledError ?? false) }
        for await progress in request.downloadProgressUpdates() where progress.completed > 0 { break }
        request.cancel { resumeData in log.note(resumeData != nil) }
        #expect(await log.wait(for: 2) == [true, true])
        #expect(request.resumeData != nil)
        request.cancel(producingResumeData: false)
        await session.shutdown()
    }

    @Test func `All requests are listed and cancelled`() async {
        let session = Session(transport: StubTransport { _ in .never })
        let log = CallLog<String>()
        for _ in 0..<5 {
            session.request(url).response(queue: queue) { log.note("\($0.error?.isExplicitlyCancelledError ?? false)") }
        }
        Self.look(at: session, log, queue)
        let entries = await log.wait(for: 7)
        #expect(entries.contains("5 requests") && entries.contains("all cancelled"))
        #expect(entries.filter { $0 == "true" }.count == 5)
    }

    private static func look(at session: Session, _ log: CallLog<String>, _ queue: DispatchQueue) {
        session.withAllRequests { requests in
            log.note("\(requests.count) requests")
            session.cancelAllRequests(completingOn: queue) { log.note("all cancelled") }
        }
    }

    // MARK: Streams

    @Test func `A stream is read by several handlers, each from its beginning to its end`() async throws {
        let lines = (0..<200).map { "{\"name\":\"Röslein \($0)\"}\n" }
        let server = try await LocalServer { router in
            router.get("/") { _ in
                .stream { writer in for line in lines { try await writer.write(Data(line.utf8)) } }
            }
        }
        struct Flower: Decodable { let name: String }
        let log = CallLog<String>()
        let session = Session()
        let data = CallLog<Data>(), texts = CallLog<String>(), names = CallLog<String>()
        session.streamRequest(server.url)
            .responseStream(on: queue) { stream in
                switch stream.event {
                case .stream(.success(let piece)): data.note(piece)
                case .complete(let completion): log.note("data \(completion.error == nil)")
                }
            }
            .responseStreamString(on: .main) { stream in
                dispatchPrecondition(condition: .onQueue(.main))
                if let text = stream.value { texts.note(text) }
                if stream.completion != nil { log.note("text") }
            }
            .responseStreamDecodable(of: Flower.self, on: queue) { stream in
                switch stream.event {
                case .stream(.success(let flower)): names.note(flower.name)
                case .stream(.failure(let error)): log.note("\(error)")
                case .complete: log.note("values")
                }
            }
            .responseStream(using: PassthroughStreamSerializer(), on: queue) { stream in
                if stream.completion != nil { log.note("pieces") }
            }
        #expect(Set(await log.wait(for: 4)) == ["data true", "text", "values", "pieces"])
        let text = lines.joined()
        #expect(data.entries.reduce(Data(), +) == Data(text.utf8))
        #expect(texts.entries.joined() == text)
        #expect(names.entries == (0..<200).map { "Röslein \($0)" })
        await session.shutdown()
    }

    @Test func `A stream handler that throws cancels the request, and receives its error`() async throws {
        struct Thorn: Error {}
        let server = try await LocalServer { router in
            router.get("/") { _ in .endless(Data(repeating: 1, count: 1000)) }
        }
        let session = Session()
        let log = CallLog<String>()
        session.streamRequest(server.url).responseStream(on: queue) { stream in
            switch stream.event {
            case .stream:
                log.note("piece")
                throw Thorn()
            case .complete(let completion): log.note("\(completion.error?.underlying is Thorn)")
            }
        }
        #expect(await log.wait(for: 2) == ["piece", "true"])
        await session.shutdown()
    }

    @Test func `Cancelling the task that adds a stream's handler cancels nothing`() async {
        let session = Session(transport: StubTransport { _ in .text("petals") })
        let log = CallLog<String>()
        let task = Task { [queue, url] in
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            session.streamRequest(url).responseStreamString(on: queue) { stream in
                log.note(stream.value ?? "\(stream.completion?.error == nil)")
            }
        }
        await task.value
        #expect(await log.wait(for: 2) == ["petals", "true"])
    }

    @Test func `Sequences of a request that was released before its start end`() async {
        let session = Session(startRequestsImmediately: false, transport: StubTransport { _ in .ok })
        let updates = session.request(url).downloadProgressUpdates()
        for await _ in updates {}
        let requests = session.streamRequest(url).httpRequests()
        for await _ in requests {}
    }
}
