import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// The trace context on the wire.
@Suite(.timeLimit(.minutes(10))) struct TraceInterceptorTests {
    /// Records the spans of an interceptor.
    private final class Spans: Sendable {
        struct Ended {
            let parent: TraceContext
            let span: TraceContext
            let status: Int?
            let error: RequestError.Kind?
        }

        private let state = Locked((begun: 0, ended: [Ended]()))

        var begun: Int { state.withLock { $0.begun } }
        var ended: [Ended] { state.withLock { $0.ended } }

        func interceptor(
            parent: @escaping @Sendable () -> TraceContext? = { TraceContext.current ?? .newTrace() },
            sendsFields: @escaping @Sendable (HTTPRequest) -> Bool = { _ in true }
        ) -> TraceInterceptor {
            TraceInterceptor(
                begin: { [self] _, parent in
                    state.withLock { $0.begun += 1 }
                    let span = parent.child()
                    return TraceSpan(context: span) { [self] outcome in
                        let (code, kind) = (outcome.response?.statusCode, outcome.error?.kind)
                        let ended = Ended(parent: parent, span: span, status: code, error: kind)
                        state.withLock { $0.ended.append(ended) }
                    }
                }, parent: parent, sendsFields: sendsFields)
        }
    }

    private static func trace(of request: LocalServer.Request) -> TraceContext? {
        TraceContext(headers: request.headers)
    }

    @Test(arguments: [true, false])
    func `each attempt and each redirect has a span of its own in one trace`(hasParent: Bool) async throws {
        let calls = Counter()
        let server = try await LocalServer { router in
            router.get("/from", .redirect(to: "/to"))
            router.get("/to") { _ in calls.next() == 1 ? .status(503) : .text("tea") }
        }
        let spans = Spans()
        let retry = RetryPolicy(exponentialBackoffScale: 0.001)
        let session = Session(interceptor: Interceptor(interceptors: [spans.interceptor(), retry]))
        let parent = TraceContext.newTrace().child()
        let answer = try await TraceContext.$current.withValue(hasParent ? parent : nil) {
            try await session.request(server.url("/from")).validate().serializingString().value
        }
        #expect(answer == "tea")
        let received = server.requests.compactMap(Self.trace)
        #expect(server.requests.map(\.path) == ["/from", "/to", "/from", "/to"])
        #expect(Set(received.map(\.spanID)).count == 4)
        #expect(Set(received.map(\.traceID)).count == 1)
        #expect(spans.begun == 4)
        #expect(spans.ended.map(\.span) == received)
        #expect(spans.ended.map(\.status) == [302, 503, 302, 200])
        #expect(spans.ended.allSatisfy { $0.parent.hasSpan == hasParent && $0.span.traceID == $0.parent.traceID })
        if hasParent { #expect(spans.ended.allSatisfy { $0.parent == parent }) }
        await session.shutdown()
    }

    /// The state may name the session's own services.
    @Test func `the state of the trace is not sent to another origin`() async throws {
        let other = try await LocalServer { $0.fallback(.text("tea")) }
        let server = try await LocalServer { router in
            router.get("/own", .redirect(to: "/from"))
            router.get("/from", .redirect(to: "http://localhost:\(other.port)/to"))
        }
        let session = Session(interceptor: TraceInterceptor())
        var parent = TraceContext.newTrace().child()
        parent.state = TraceState(["vendor=secret"])
        let answer = try await TraceContext.$current.withValue(parent) {
            try await session.request(server.url("/own")).serializingString().value
        }
        #expect(answer == "tea")
        #expect(server.requests.map { $0.headers["tracestate"] } == ["vendor=secret", "vendor=secret"])
        #expect(other.requests.map { $0.headers["tracestate"] } == [nil])
        #expect(other.requests.map { Self.trace(of: $0)?.traceID } == [parent.traceID])
        await session.shutdown()
    }

    /// The request ends before a task awaits it, so the redirect is followed in a task that the transport causes.
    @Test func `a redirect belongs to the trace even if no task awaits the request`() async throws {
        let server = try await LocalServer { router in
            router.get("/from", .redirect(to: "/to"))
            router.get("/to", .text("tea"))
        }
        let session = Session(interceptor: TraceInterceptor())
        let parent = TraceContext.newTrace().child()
        let task = TraceContext.$current.withValue(parent) {
            session.request(server.url("/from")).serializingString()
        }
        _ = try await server.request(2)
        #expect(try await task.value == "tea")
        #expect(server.requests.map { Self.trace(of: $0)?.traceID } == [parent.traceID, parent.traceID])
        await session.shutdown()
    }

    @Test func `a trace goes through three services`() async throws {
        let session = Session(interceptor: TraceInterceptor())
        let last = try await LocalServer { router in router.get("/c", .text("c")) }
        let middle = try await LocalServer { router in
            router.get("/b") { request in
                try await TraceContext.$current.withValue(TraceContext(headers: request.headers)) {
                    .text(try await session.request(last.url("/c")).serializingString().value)
                }
            }
        }
        let first = try await LocalServer { router in
            router.get("/a") { request in
                try await TraceContext.$current.withValue(TraceContext(headers: request.headers)) {
                    .text(try await session.request(middle.url("/b")).serializingString().value)
                }
            }
        }
        #expect(try await session.request(first.url("/a")).serializingString().value == "c")
        let traces = [first, middle, last].compactMap { $0.requests.first.flatMap(Self.trace) }
        #expect(Set(traces.map(\.traceID)).count == 1)
        #expect(Set(traces.map(\.spanID)).count == 3)
        await session.shutdown()
    }

    @Test func `flags and state are passed on`() async throws {
        let server = try await LocalServer { router in router.get("/a", .text("a")) }
        let session = Session(interceptor: TraceInterceptor())
        var parent = TraceContext.newTrace(isSampled: false).child()
        parent.state["vendor"] = "1"
        // A tag replaces the current context.
        let request = session.request(server.url("/a")).tag(TraceContext.Parent.self, parent)
        _ = try await TraceContext.$current.withValue(.newTrace()) { try await request.serializingString().value }
        let received = try #require(server.requests.first.flatMap(Self.trace))
        #expect(received.traceID == parent.traceID && received.spanID != parent.spanID)
        #expect(!received.isSampled && received.isRandom && received.state["vendor"] == "1")
        await session.shutdown()
    }

    @Test func `without a parent, or with its own field, a request is not traced`() async throws {
        let server = try await LocalServer { router in router.get("/a", .text("a")) }
        let spans = Spans()
        let session = Session(interceptor: spans.interceptor(parent: { TraceContext.current }))
        _ = try await session.request(server.url("/a")).serializingString().value
        let own = TraceContext.newTrace().child()
        try await TraceContext.$current.withValue(.newTrace()) {
            _ = try await session.request(server.url("/a"), headers: own.headers).serializingString().value
        }
        #expect(spans.begun == 0)
        #expect(server.requests.map { $0.headers["traceparent"] } == [nil, own.traceparent])
        await session.shutdown()
    }

    @Test func `a server that must not receive the fields does not, and has a span`() async throws {
        let server = try await LocalServer { router in router.get("/a", .text("a")) }
        let spans = Spans()
        let session = Session(interceptor: spans.interceptor(sendsFields: { $0.url.path != "/a" }))
        _ = try await session.request(server.url("/a")).serializingString().value
        #expect(server.requests.map { $0.headers["traceparent"] } == [nil])
        #expect(spans.ended.map(\.status) == [200])
        await session.shutdown()
    }

    @Test func `a response from the cache has no span, and the fields do not change the cache`() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "Vary": "traceparent"]
        let server = try await LocalServer { router in router.get("/a", .text("a", headers: headers)) }
        let spans = Spans()
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        let session = Session(configuration: configuration, interceptor: spans.interceptor())
        for _ in 1...2 { _ = try await session.request(server.url("/a")).serializingString().value }
        #expect(server.requestCount == 1 && spans.begun == 1 && spans.ended.count == 1)
        await session.shutdown()
    }

    @Test func `a span ends with the error of its exchange, before the request ends`() async throws {
        let transport = StubTransport { _ in throw RequestError(.connection(.refused)) }
        let spans = Spans()
        let session = Session(interceptor: spans.interceptor(), transport: transport)
        let answer = await session.request("http://stub.test/a").serializingString().response
        #expect(answer.error?.kind == .connection(.refused))
        #expect(spans.ended.map(\.error) == [.connection(.refused)])
        await session.shutdown()
    }
}
