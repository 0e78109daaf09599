import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Requests that were cancelled before anything was done for them: no code of the user's runs.
///
/// A request that was created before `cancelAllRequests()` and started afterwards is cancelled.
@Suite(.timeLimit(.minutes(10))) struct CancelledBeforeTests {
    /// The user's code that runs while a request is created.
    enum Part: CaseIterable, Sendable {
        case request, url, modifier, encoder, sessionAdapter, adapter
    }

    /// A session, and how often the user's code was called.
    private struct FixtureSession {
        let calls = Counter()
        let session: Session
        private let part: Part
        private let adapter: Adapter

        init(_ part: Part) {
            let calls = calls
            adapter = Adapter { request, _ in
                calls.next()
                return request
            }
            self.part = part
            session = Session(
                interceptor: part == .sessionAdapter ? adapter : nil, transport: StubTransport { _ in .text("{}") })
        }

        func data() -> DataRequest {
            switch part {
            case .request: session.request(Counted(calls: calls))
            case .url: session.request(CountedURL(calls: calls))
            case .modifier:
                session.request(stubURL) { [calls] request in
                    calls.next()
                    request.headers.update(name: "X-Changed", value: "yes")
                }
            case .encoder:
                session.request(stubURL, method: .post, parameters: ["a": 1], encoder: CountedEncoder(calls: calls))
            case .sessionAdapter: session.request(stubURL)
            case .adapter: session.request(stubURL, interceptor: adapter)
            }
        }

        func stream() -> DataStreamRequest {
            switch part {
            case .request: session.streamRequest(Counted(calls: calls))
            case .url: session.streamRequest(CountedURL(calls: calls))
            case .modifier: session.streamRequest(stubURL) { [calls] _ in calls.next() }
            case .encoder:
                session.streamRequest(
                    stubURL, method: .post, parameters: ["a": 1], encoder: CountedEncoder(calls: calls))
            case .sessionAdapter: session.streamRequest(stubURL)
            case .adapter: session.streamRequest(stubURL, interceptor: adapter)
            }
        }

        func download() -> DownloadRequest {
            switch part {
            case .request: session.download(Counted(calls: calls))
            case .url: session.download(CountedURL(calls: calls))
            case .modifier: session.download(stubURL, requestModifier: { [calls] _ in calls.next() })
            case .encoder:
                session.download(stubURL, method: .post, parameters: ["a": 1], encoder: CountedEncoder(calls: calls))
            case .sessionAdapter: session.download(stubURL)
            case .adapter: session.download(stubURL, interceptor: adapter)
            }
        }
    }

    @Test(arguments: Part.allCases)
    func `a request that was cancelled before its start ends without running user code`(
        _ part: Part
    ) async {
        let scene = FixtureSession(part)
        // Otherwise the code is called.
        #expect(await scene.data().serializingData().response.error == nil)
        #expect(scene.calls.value == 1)
        let requests = (0..<10).map { _ in scene.data() }
        await scene.session.cancelAllRequests()
        for request in requests {
            #expect(await request.serializingData().response.error?.kind == .cancelled)
            #expect(request.state == .cancelled && request.requests.isEmpty)
        }
        await scene.session.shutdown()
        #expect(scene.calls.value == 1)
    }

    @Test(arguments: Part.allCases)
    func `a stream that was cancelled before its start ends without running user code`(
        _ part: Part
    ) async {
        let scene = FixtureSession(part)
        let requests = (0..<10).map { _ in scene.stream() }
        await scene.session.cancelAllRequests()
        for request in requests {
            let error = await #expect(throws: RequestError.self) { try await request.streamTask().response }
            #expect(error?.kind == .cancelled)
        }
        await scene.session.shutdown()
        #expect(scene.calls.value == 0)
    }

    @Test(arguments: Part.allCases)
    func `a download that was cancelled before its start ends without running user code`(
        _ part: Part
    ) async {
        let scene = FixtureSession(part)
        let requests = (0..<10).map { _ in scene.download() }
        await scene.session.cancelAllRequests()
        for request in requests { #expect(await request.serializingURL().response.error?.kind == .cancelled) }
        await scene.session.shutdown()
        #expect(scene.calls.value == 0)
    }

    @Test func `a request that was cancelled before its start is not created`() async {
        let (transport, log) = (StubTransport { _ in .text("{}") }, EventLog())
        let session = Session(eventMonitors: [log], transport: transport)
        let request = session.request(stubURL)
        await session.cancelAllRequests()
        #expect(await request.serializingData().response.error?.kind == .cancelled)
        #expect(request.requests.isEmpty && transport.requestCount == 0)
        await session.shutdown()
        #expect(log.lines == ["resume", "cancel", "initial: cancelled", "Data: cancelled", "finish"])
    }

    @Test func `a request that was suspended before its start is cancelled with the others`() async {
        let session = Session(transport: StubTransport { _ in .text("{}") })
        let request = session.request(stubURL).suspend()
        let task = request.serializingData()
        await session.cancelAllRequests()
        #expect(request.state == .cancelled && request.isCancelled && !request.isSuspended)
        #expect(await task.response.error?.kind == .cancelled)
        await session.shutdown()
    }

    /// It fails, and is cancelled by the very code that has it fail.
    @Test func `no retrier is called for a request that was cancelled meanwhile`() async {
        let calls = Counter()
        let retrier = Retrier { _, _, _ in
            calls.next()
            return .retry
        }
        let session = Session(interceptor: retrier, transport: StubTransport { _ in .text("{}") })
        for _ in 1...20 {
            let made = Locked<DataRequest?>(nil)
            let request = session.request(stubURL).validate { _, _, _ in
                made.withLock { $0 }?.cancel()
                return .failure(TestFailure("of the validator"))
            }
            made.withLock { $0 = request }
            let error = await request.serializingData().response.error
            #expect(error?.isCancellation == true)
            made.withLock { $0 = nil }
        }
        await session.shutdown()
        #expect(calls.value == 0)
    }
}

private let stubURL = "http://stub.test/"

private struct Counted: HTTPRequestConvertible {
    let calls: Counter

    func asHTTPRequest() throws -> HTTPRequest {
        calls.next()
        return HTTPRequest(url: try stubURL.asURL())
    }
}

private struct CountedURL: URLConvertible {
    let calls: Counter

    func asURL() throws -> URL {
        calls.next()
        return try stubURL.asURL()
    }
}

private struct CountedEncoder: ParameterEncoder {
    let calls: Counter

    func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws -> HTTPRequest {
        calls.next()
        return request
    }
}
