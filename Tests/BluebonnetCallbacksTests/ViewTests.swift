import BluebonnetCompatibility
import BluebonnetTesting
import Foundation
import FoundationNetworking
import Testing

/// Alamofire's classes as views of actors: what they keep, share and count.
@Suite(.timeLimit(.minutes(10))) struct ViewTests {
    private static let url = "http://stub.test/"

    private let passing = Adapter { request, _, completion in
        var request = request
        request.headers.add(name: "X-Adapted", value: "1")
        completion(.success(request))
    }

    /// Waits until a request is released, for at most 5 seconds.
    private func isReleased(_ make: () async -> any Bluebonnet.Request) async -> Bool {
        weak let request = await make()
        for _ in 0..<500 where request != nil { try? await Task.sleep(for: .milliseconds(10)) }
        return request == nil
    }

    @Test func `requests are released, with adapters and with handlers of tasks`() async {
        let session = Session(interceptor: passing, transport: StubTransport { _ in .text("text") })
        let isReleasedAtEnd = await isReleased {
            let request = session.request(Self.url, interceptor: passing)
            _ = await request.serializingData().response
            return request.base
        }
        #expect(isReleasedAtEnd)
        let isReleasedUnused = await isReleased {
            session.request(Self.url).onURLSessionTaskCreation { _ in }.onURLRequestCreation { _ in }.base
        }
        #expect(isReleasedUnused)
    }

    @Test func `the handlers of attempts are called, although no variable keeps the request`() async {
        let session = Session(transport: StubTransport { _ in .text("text") })
        let requests = CallLog<String>()
        let tasks = CallLog<String>()
        await withTaskGroup { group in
            for number in 1...400 {
                group.addTask(priority: number.isMultiple(of: 2) ? .background : .high) {
                    let queue = DispatchQueue(label: "handlers")
                    await withCheckedContinuation { continuation in
                        session.request("\(Self.url)\(number)")
                            .onURLRequestCreation(on: queue) { requests.note($0.url?.absoluteString ?? "") }
                            .onURLSessionTaskCreation(on: queue) { task in
                                tasks.note(task.originalRequest?.url?.absoluteString ?? "")
                            }
                            .response(queue: queue) { _ in continuation.resume() }
                    }
                }
            }
        }
        let urls = (1...400).map { "\(Self.url)\($0)" }.sorted()
        #expect(requests.entries.sorted() == urls)
        #expect(tasks.entries.sorted() == urls)
    }

    @Test func `a subclass of a session sees all requests`() async {
        final class Recording: Session, @unchecked Sendable {
            let log = CallLog<String>()

            override func request(
                _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil
            ) -> DataRequest {
                log.note((try? convertible.asURLRequest().url?.absoluteString) ?? "-")
                return super.request(convertible, interceptor: interceptor)
            }
        }
        let session = Recording(transport: StubTransport { _ in .text("text") })
        _ = await session.request(Self.url).serializingData().response
        _ = await session.request(Self.url, parameters: ["a": "b"]).serializingData().response
        #expect(session.log.entries == [Self.url, Self.url + "?a=b"])
    }

    @Test func `the URL of a file is there without reading the file`() async throws {
        var configuration = Session.Configuration.default
        configuration.maximumResponseBytes = 10
        let session = Session(
            configuration: configuration, transport: StubTransport { _ in .text(String(repeating: "x", count: 1000)) })
        let file = try await session.download(Self.url).serializingDownloadedFileURL().value
        #expect(try Data(contentsOf: file).count == 1000)
        try FileManager.default.removeItem(at: file)
        #expect(await session.download(Self.url).serializingData().response.error != nil)
    }

    @Test func `an attempt with a redirect has one task, which is completed once`() async throws {
        final class Monitor: EventMonitor {
            let queue = DispatchQueue(label: "tasks")
            let log = CallLog<String>()
            let tasks = CallLog<URLSessionTask>()

            private func note(_ name: String, _ task: URLSessionTask) {
                log.note(name)
                tasks.note(task)
            }
            func request(_ request: Request, didCreateTask task: URLSessionTask) { note("create", task) }
            func request(_ request: Request, didResumeTask task: URLSessionTask) { note("resume", task) }
            func urlSession(
                _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
                newRequest request: URLRequest
            ) { note("redirect", task) }
            func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) {
                note("complete", task)
            }
        }
        let server = try await LocalServer { router in
            router.get("/old", .redirect(to: "/new"))
            router.get("/new", .text("new"))
            router.get("/end", .status(304))
        }
        for (path, events) in [
            ("/old", ["create", "resume", "redirect", "complete"]), ("/new", ["create", "resume", "complete"]),
            ("/end", ["create", "resume", "complete"]),
        ] {
            let monitor = Monitor()
            let session = Session(eventMonitors: [monitor])
            // The monitor works later, when the task exists already.
            monitor.queue.suspend()
            _ = await session.request(server.url(path)).serializingData().response
            monitor.queue.resume()
            await session.base.shutdown()
            #expect(monitor.log.entries == events)
            #expect(Set(monitor.tasks.entries).count == 1)
        }
        await server.stop()
    }

    /// The monitor is called later than the events, on a queue that others use.
    @Test func `a monitor reads the response from the request, and no validation error from the task`() async {
        final class Monitor: EventMonitor {
            let queue = DispatchQueue(label: "readings")
            let log = CallLog<String>()

            func request(_ request: Request, didGatherMetrics metrics: BluebonnetCompatibility.URLSessionTaskMetrics) {
                log.note("metrics \(request.metrics != nil)")
            }
            func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) {
                log.note("\(request.response?.statusCode ?? 0) \(task.error == nil)")
            }
            func requestIsRetrying(_ request: Request) { log.note("retry \(request.response?.statusCode ?? 0)") }
        }
        let monitor = Monitor()
        let retrier = Retrier { request, _, _, completion in completion(request.retryCount < 1 ? .retry : .doNotRetry) }
        let session = Session(
            interceptor: retrier, eventMonitors: [monitor], transport: StubTransport { _ in .status(404) })
        for _ in 0..<50 { _ = await session.request(Self.url).validate().serializingData().response }
        await session.base.shutdown()
        let entries = monitor.log.entries.filter { !$0.hasPrefix("metrics") }
        #expect(Set(entries) == ["404 true", "retry 404"] && entries.count == 150)
        #expect(Set(monitor.log.entries).subtracting(entries).isSubset(of: ["metrics true"]))
    }

    @Test(arguments: ["items/1", "ftp://a.test/", "file:///etc/hostname"])
    func `a URL that is not of http has URLSession's error`(url: String) async {
        let session = Session(transport: StubTransport { _ in .text("text") })
        let error = await session.request(url).serializingData().response.error
        #expect(error?.isSessionTaskError == true)
        #expect((error?.underlyingError as? URLError)?.code == .unsupportedURL && error?.requestError != nil)
    }

    @Test func `after a failed adapter that was retried, the request is the adapted one`() async {
        let failures = Locked(1)
        let adapter = Adapter { request, _, completion in
            guard failures.withLock({ exchange(&$0, with: $0 - 1) }) < 1 else {
                return completion(.failure(URLError(.timedOut)))
            }
            var request = request
            request.headers.add(name: "X-Adapted", value: "1")
            completion(.success(request))
        }
        let session = Session(
            interceptor: Interceptor(
                adapters: [adapter], retriers: [Retrier { _, _, _, completion in completion(.retry) }]),
            transport: StubTransport { _ in .text("text") })
        let request = session.request(Self.url)
        let response = await request.serializingData().response
        #expect(response.request?.headers["X-Adapted"] == "1")
        #expect(request.requests.map { $0.headers["X-Adapted"] } == [nil, nil, "1"])
    }

    @Test func `a serializer that fails with any error is called once`() async {
        struct Failing: ResponseSerializer {
            let log: CallLog<String>
            let error: any Error & Sendable

            func serialize(
                request: URLRequest?, response: HTTPURLResponse?, data: Data?, error given: (any Error)?
            ) throws -> Int {
                log.note("\(given == nil)")
                throw error
            }
        }
        let session = Session(transport: StubTransport { _ in .text("text") })
        for error in [RequestError(.cancelled), CancellationError(), URLError(.timedOut)] as [any Error & Sendable] {
            let log = CallLog<String>()
            let response = await session.request(Self.url)
                .serializingResponse(using: Failing(log: log, error: error)).response
            #expect(response.error?.isResponseSerializationError == true, "\(response)")
            #expect(log.entries == ["true"])
        }
    }

    @Test func `another view of a session does not displace it`() async {
        let log = CallLog<ObjectIdentifier>()
        let session = Session(
            interceptor: Adapter { request, session, completion in
                log.note(ObjectIdentifier(session))
                completion(.success(request))
            }, transport: StubTransport { _ in .text("text") })
        let other = Session(session.base)
        _ = await other.request(Self.url).serializingData().response
        #expect(log.entries == [ObjectIdentifier(session)])
    }

    @Test func `each request has the credential that was set before it`() async throws {
        struct Key: AuthenticationCredential {
            let token: Int
            var requiresRefresh: Bool { false }
        }
        final class Keeper: Authenticator {
            func apply(_ credential: Key, to urlRequest: inout URLRequest) {
                urlRequest.headers.add(.authorization(bearerToken: "\(credential.token)"))
            }
            func refresh(
                _ credential: Key, for session: Session,
                completion: @escaping @Sendable (Result<Key, any Error>) -> Void
            ) { completion(.success(credential)) }
            func didRequest(
                _ urlRequest: URLRequest, with response: HTTPURLResponse,
                failDueToAuthenticationError error: any Error
            ) -> Bool { false }
            func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Key) -> Bool { true }
        }
        let session = Session(transport: StubTransport { .text($0.headers["Authorization"] ?? "-") })
        let interceptor = AuthenticationInterceptor(authenticator: Keeper(), credential: Key(token: 0))
        for token in 1...200 {
            // The first of the others takes the credential to the actor, while the second one is sent.
            interceptor.credential = Key(token: token)
            let texts = await withTaskGroup(of: String?.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        await session.request(Self.url, interceptor: interceptor).serializingString().response.value
                    }
                }
                return await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(texts == ["Bearer \(token)"])
        }
    }
}
