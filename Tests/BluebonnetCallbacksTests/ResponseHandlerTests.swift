import BluebonnetTesting
import Foundation
import Testing

@testable import BluebonnetCallbacks

private struct Rose: Codable, Equatable, Sendable {
    var name: String
    var petals: Int
}

@Suite(.timeLimit(.minutes(10))) struct ResponseHandlerTests {
    private let queue = DispatchQueue(label: "handlers")
    private let url = "http://stub.test/rose"

    private func session(
        startRequestsImmediately: Bool = true, _ responses: StubTransport.Response...
    ) -> (Session, StubTransport) {
        let responses = responses.isEmpty ? [.json(Rose(name: "Alba", petals: 40))] : responses
        let number = Counter()
        let transport = StubTransport { _ in responses[min(number.next(), responses.count) - 1] }
        return (Session(startRequestsImmediately: startRequestsImmediately, transport: transport), transport)
    }

    // MARK: Values

    @Test func `Each handler receives a value of its type`() async throws {
        let (session, transport) = session()
        let log = CallLog<String>()
        session.request(url)
            .response(queue: queue) { log.note("response \($0.value??.count ?? 0)") }
            .responseData(queue: queue) { log.note("data \($0.value?.count ?? 0)") }
            .responseString(queue: queue) { log.note("string \($0.value?.contains("Alba") ?? false)") }
            .responseJSON(queue: queue) { response in
                let object = response.value as? [String: Any]
                log.note("json \(object?["name"] as? String ?? "") \(object?["petals"] as? Double ?? 0)")
            }
            .responseDecodable(of: Rose.self, queue: queue) { log.note("decodable \($0.value?.petals ?? 0)") }
            .response(queue: queue, responseSerializer: StringResponseSerializer()) {
                log.note("serializer \($0.value?.count ?? 0)")
            }
        let count = try JSONEncoder().encode(Rose(name: "Alba", petals: 40)).count
        #expect(
            await log.wait(for: 6) == [
                "response \(count)", "data \(count)", "string true", "json Alba 40.0", "decodable 40",
                "serializer \(count)",
            ])
        #expect(transport.requestCount == 1)
    }

    @Test func `A property list is parsed to objects`() async throws {
        let list = try PropertyListEncoder().encode(["colours": ["red", "white"]])
        let (session, _) = session(.response(body: list))
        let log = CallLog<[String]>()
        session.request(url).responsePropertyList(queue: queue) { response in
            log.note((response.value as? [String: Any])?["colours"] as? [String] ?? [])
        }
        #expect(await log.wait(for: 1) == [["red", "white"]])
    }

    @Test func `A valid empty body is nil, empty data, empty text or NSNull`() async {
        let (session, _) = session(.status(204))
        let log = CallLog<Bool>()
        session.request(url)
            .response(queue: queue) { log.note($0.error == nil && $0.value == .some(nil)) }
            .responseData(queue: queue) { log.note($0.value == Data()) }
            .responseString(queue: queue) { log.note($0.value == "") }
            .responseJSON(queue: queue) { log.note($0.value is NSNull) }
            .responseDecodable(of: Empty.self, queue: queue) { log.note($0.error == nil) }
        #expect(await log.wait(for: 5) == [true, true, true, true, true])
    }

    @Test func `By default an empty body is valid for the same statuses and methods as in the serializers`() {
        #expect(DataResponseSerializer.defaultEmptyResponseCodes == [204, 205])
        #expect(DataResponseSerializer.defaultEmptyRequestMethods == [.head])
    }

    @Test func `Handlers can be added to every request with a serialized value`() async throws {
        func add(to request: some SerializingRequest, _ log: CallLog<String>, _ name: String) {
            request.responseData(queue: queue) { _ in log.note("\(name) data") }
                .responseJSON(queue: queue) { _ in log.note("\(name) JSON") }
        }
        let (session, _) = session()
        let log = CallLog<String>()
        let download = session.download(url)
        add(to: session.request(url), log, "memory")
        #expect(await log.wait(for: 2) == ["memory data", "memory JSON"])
        add(to: download, log, "file")
        #expect(await log.wait(for: 4).suffix(2) == ["file data", "file JSON"])
        if let file = download.fileURL { try FileManager.default.removeItem(at: file) }
    }

    // MARK: Order

    @Test func `Handlers are called in the order in which they were added, on any queues`() async {
        let (session, _) = session()
        let queues = [queue, .global(), .main, .global(qos: .background), DispatchQueue(label: "other")]
        for _ in 0..<20 {
            let log = CallLog<Int>()
            let request = session.request(url)
            for number in 0..<25 {
                request.responseData(queue: queues[number % queues.count]) { _ in log.note(number) }
            }
            #expect(await log.wait(for: 25) == Array(0..<25))
        }
    }

    @Test func `Later handlers wait for a slow handler`() async {
        let (session, _) = session()
        let log = CallLog<String>()
        session.request(url)
            .responseData(queue: .global()) { _ in
                log.note("first begins")
                for _ in 0..<100 { sched_yield() }
                log.note("first ends")
            }
            .responseData(queue: .global()) { _ in log.note("second") }
        #expect(await log.wait(for: 3) == ["first begins", "first ends", "second"])
    }

    @Test func `A handler that another handler adds is called after the existing handlers`() async {
        let (session, transport) = session()
        let log = CallLog<Int>()
        let request = session.request(url)
        request
            .responseData(queue: queue) { [queue] _ in
                log.note(1)
                request.responseData(queue: queue) { _ in log.note(3) }
            }
            .responseData(queue: queue) { _ in log.note(2) }
        #expect(await log.wait(for: 3) == [1, 2, 3])
        #expect(transport.requestCount == 1)
    }

    @Test func `A handler that is added after the end is called, and sends nothing again`() async {
        let (session, transport) = session()
        let log = CallLog<Int>()
        let request = session.request(url).responseData(queue: queue) { _ in log.note(1) }
        _ = await log.wait(for: 1)
        _ = await request.serializingData().response
        request.responseString(queue: queue) { log.note($0.error == nil ? 2 : -2) }
        #expect(await log.wait(for: 2) == [1, 2])
        #expect(transport.requestCount == 1 && request.isFinished)
    }

    @Test func `A request is released after its handlers were called`() async {
        let (session, _) = session()
        let log = CallLog<Int>()
        let request = session.request(url).downloadProgress(queue: queue) { _ in }
            .onURLRequestCreation(on: queue) { _ in }
            .responseData(queue: queue) { _ in log.note(1) }
        #expect(HandlerSlot.hasHandlers(request.id))
        _ = await log.wait(for: 1)
        // The last call returns on this queue.
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        while HandlerSlot.hasHandlers(request.id) { await Task.yield() }
    }

    // MARK: Exactly once

    @Test func `A retried request calls each handler once with the last response`() async {
        let (session, transport) = session(.status(503), .status(503), .text("at last"))
        let log = CallLog<String>()
        session.request(url)
            .validate().retry(using: Retrier { _, _, _ in .retry })
            .responseString(queue: queue) { log.note($0.value ?? "") }
            .response(queue: queue) { log.note("\($0.response?.statusCode ?? 0)") }
        #expect(await log.wait(for: 2) == ["at last", "200"])
        #expect(transport.requestCount == 3)
    }

    @Test func `A serializer failure retries the request before any handler is called`() async {
        let (session, transport) = session(.text("no JSON"), .json(Rose(name: "Alba", petals: 5)))
        let log = CallLog<String>()
        // The request waits until it has both handlers. A handler that is added after the response does not retry the
        // request.
        session.request(url).suspend()
            .retry(using: Retrier { request, _, _ in request.retryCount == 0 ? .retry : .doNotRetry })
            .responseString(queue: queue) { log.note($0.value ?? "") }
            .responseDecodable(of: Rose.self, queue: queue) { log.note($0.value?.name ?? "") }
            .resume()
        let entries = await log.wait(for: 2)
        #expect(entries.first?.contains("petals") == true && entries.last == "Alba")
        #expect(transport.requestCount == 2)
    }

    @Test func `A request that is cancelled calls each handler with explicitlyCancelled`() async {
        let (session, _) = session(.never)
        let log = CallLog<Bool>()
        let request = session.request(url)
            .responseData(queue: queue) { log.note($0.error?.isExplicitlyCancelledError ?? false) }
            .responseString(queue: queue) { log.note($0.error?.isExplicitlyCancelledError ?? false) }
        request.cancel()
        request.responseJSON(queue: queue) { log.note($0.error?.isExplicitlyCancelledError ?? false) }
        #expect(await log.wait(for: 3) == [true, true, true])
    }

    @Test func `Cancelling the task that adds a handler cancels nothing`() async {
        let (session, _) = session()
        let log = CallLog<Bool>()
        let task = Task { [queue, url] in
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            session.request(url).responseData(queue: queue) { log.note($0.error == nil) }
        }
        await task.value
        #expect(await log.wait(for: 1) == [true])
    }

    @Test func `A handler is called although the session is released during the request`() async {
        let log = CallLog<Bool>()
        do {
            let (session, _) = session(.delayed(.milliseconds(20), .text("here")))
            session.request(url).responseString(queue: queue) { log.note($0.value == "here") }
        }
        #expect(await log.wait(for: 1) == [true])
    }

    @Test func `A request that was not started fails when its session is shut down`() async {
        let (session, transport) = session(startRequestsImmediately: false)
        let log = CallLog<Bool>()
        session.request(url).responseString(queue: queue) { response in
            log.note(response.error?.isSessionDeinitializedError ?? false)
        }
        await session.shutdown()
        #expect(await log.wait(for: 1) == [true])
        #expect(transport.requestCount == 0)
    }

    @Test func `With startRequestsImmediately false, a handler waits for resume`() async {
        let (session, transport) = session(startRequestsImmediately: false)
        let log = CallLog<String>()
        let request = session.request(url).response(queue: queue) { _ in log.note("called") }
        #expect(request.isInitialized && transport.requestCount == 0)
        log.note("resumed")
        request.resume()
        #expect(await log.wait(for: 2) == ["resumed", "called"])
    }

    // MARK: Responses

    @Test func `Responses contain an AFError and can be mapped`() async {
        let (session, _) = session(.text("gone", status: 410))
        let log = CallLog<AFDataResponse<Int>>()
        session.request(url).validate().responseString(queue: queue) { response in
            log.note(response.map(\.count))
        }
        let response = await log.wait(for: 1).first
        #expect(response?.error?.responseCode == 410)
        #expect(response?.response?.statusCode == 410 && response?.data == Data("gone".utf8))
        #expect(response?.request?.url.absoluteString == url)
    }

    @Test func `Serializers with Foundation's types are called and can call the built-in serializers`() async {
        struct Commas: FoundationResponseSerializer {
            func serialize(
                request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
            ) throws -> [String] {
                #expect(request?.url?.path == "/rose" && response?.statusCode == 200 && error == nil)
                let text = try StringResponseSerializer()
                    .serialize(request: request, response: response, data: data, error: error)
                return text.split(separator: ",").map(String.init)
            }
        }
        let (session, _) = session(.text("a,b,c"))
        let log = CallLog<[String]>()
        session.request(url).response(queue: queue, responseSerializer: Commas()) { log.note($0.value ?? []) }
        #expect(await log.wait(for: 1) == [["a", "b", "c"]])
    }
}

/// Counts what happens, from 1.
final class Counter: Sendable {
    private let count = Locked(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
