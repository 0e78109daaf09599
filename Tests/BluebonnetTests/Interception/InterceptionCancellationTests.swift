import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Where a request is when it is cancelled: in code that never returns, and does not heed its cancellation.
enum InterceptionPoint: CaseIterable, Sendable {
    case sessionAdapter, requestAdapter, adapterOfSecondAttempt, retrier, retrierOfSerializer, delay, redirectHandler
    /// The credential is known to be of no use, so that the request waits before it is sent.
    case refresh
    /// The server has refused the credential.
    case refreshAfterRefusal
}

/// What kind of request it is.
enum RequestKind: CaseIterable, Sendable {
    case data, upload, stream, download
}

/// Reports when it was reached, and never returns.
private final class Trap: Sendable {
    private struct State {
        var isReached = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var held: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// Waits, even if the task is cancelled, until ``release()`` ends the wait at the end of the test.
    func fall() async {
        await withCheckedContinuation { continuation in
            let waiting = state.withLock { state in
                state.isReached = true
                state.held.append(continuation)
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }
    }

    func reached() async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if !state.isReached { state.waiting.append(continuation) }
                return state.isReached
            }
            if isReached { continuation.resume() }
        }
    }

    func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }
}

private struct TrappingRedirects: RedirectHandler {
    let trap: Trap

    func request(
        _ request: any Request, willBeRedirectedTo newRequest: HTTPRequest, for response: HTTPResponse
    ) async -> HTTPRequest? {
        await trap.fall()
        return newRequest
    }
}

/// A session whose requests stop in a certain phase.
private struct FixtureSession {
    let trap = Trap()
    let session: Session
    private let interceptor: Interceptor?

    init(_ point: InterceptionPoint) {
        let trap = trap
        let trapping = Adapter { request, _ in
            await trap.fall()
            return request
        }
        let authentication = AuthenticationInterceptor(
            authenticator: TokenAuthenticator { _, _ in
                await trap.fall()
                return Token(number: 2)
            }, credential: Token(number: 1, requiresRefresh: point == .refresh))
        let transport = StubTransport { _ in
            switch point {
            case .refreshAfterRefusal: .status(401)
            case .redirectHandler: .text("moved", status: 302, headers: ["Location": "/there"])
            case .retrier, .adapterOfSecondAttempt, .delay: .failure(RequestError(.connection(.lost)))
            default: .text("{")
            }
        }
        var configuration = Session.Configuration()
        configuration.sleep = { _ in await trap.fall() }
        session = Session(
            configuration: configuration, interceptor: point == .sessionAdapter ? trapping : nil,
            redirectHandler: point == .redirectHandler ? TrappingRedirects(trap: trap) : nil, transport: transport)
        interceptor =
            switch point {
            case .sessionAdapter, .redirectHandler: nil
            case .refresh, .refreshAfterRefusal: Interceptor(interceptors: [authentication])
            case .requestAdapter: Interceptor(adapters: [trapping])
            case .adapterOfSecondAttempt:
                Interceptor(
                    adapt: { request, state in
                        if state.retryCount > 0 { await trap.fall() }
                        return request
                    }, retry: { _, _, _ in .retry })
            case .retrier, .retrierOfSerializer:
                Interceptor(retriers: [
                    Retrier { _, _, _ in
                        await trap.fall()
                        return .retry
                    }
                ])
            case .delay: Interceptor(retriers: [Retrier { _, _, _ in .retryWithDelay(.seconds(1)) }])
            }
    }

    private let allowed = 200..<400

    /// Starts a request of a kind; returns the request and a closure that waits for its result.
    func request(_ kind: RequestKind) -> (any Request, @Sendable () async -> RequestError?) {
        switch kind {
        case .data:
            let request = session.request("http://stub.test/", interceptor: interceptor).validate(statusCode: allowed)
            let task = request.serializingDecodable(Int.self)
            return (request, { await task.response.error })
        case .upload:
            let request = session.upload(Data("b".utf8), to: "http://stub.test/", interceptor: interceptor)
                .validate(statusCode: allowed)
            let task = request.serializingDecodable(Int.self)
            return (request, { await task.response.error })
        case .stream:
            let request = session.streamRequest("http://stub.test/", interceptor: interceptor)
                .validate(statusCode: allowed)
            let bytes = request.streamTask().bytes
            let reading = Task { () -> RequestError? in
                do throws(RequestError) {
                    for try await _ in bytes {}
                    return nil
                } catch { return error }
            }
            return (request, { await reading.value })
        case .download:
            let request = session.download("http://stub.test/", interceptor: interceptor)
                .validate(statusCode: allowed)
            let task = request.serializingDecodable(Int.self)
            return (request, { await task.response.error })
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct InterceptionCancellationTests {
    @Test(arguments: InterceptionPoint.allCases, RequestKind.allCases)
    func `Cancelling ends the request at once in every phase`(
        point: InterceptionPoint, kind: RequestKind
    ) async throws {
        // A stream has no serializers that fail.
        guard point != .retrierOfSerializer || kind != .stream else { return }
        let scene = FixtureSession(point)
        let (request, ending) = scene.request(kind)
        await scene.trap.reached()
        request.cancel()
        let error = try #require(await ending())
        #expect(error.isCancellation, "\(error)")
        #expect(request.state == .cancelled)
        switch point {
        case .retrier, .delay: #expect((error.underlying as? RequestError)?.kind == .connection(.lost))
        case .refreshAfterRefusal:
            #expect((error.underlying as? RequestError)?.kind == .validation(.unacceptableStatusCode(401)))
        // Why the serializer failed is not lost.
        case .retrierOfSerializer: #expect((error.underlying as? RequestError)?.isCancellation == false)
        default: break
        }
        scene.trap.release()
        await scene.session.shutdown()
    }

    @Test func `Code that returns after the cancellation changes nothing`() async throws {
        let scene = FixtureSession(.requestAdapter)
        let (request, ending) = scene.request(.data)
        await scene.trap.reached()
        request.cancel()
        _ = await ending()
        scene.trap.release()
        await scene.session.shutdown()
        #expect(request.requests.isEmpty)
        #expect(request.state == .cancelled)
    }

    @Test func `Shutting down with a cancelled task ends requests that are being intercepted`() async throws {
        let scene = FixtureSession(.delay)
        let (_, ending) = scene.request(.data)
        await scene.trap.reached()
        let session = scene.session
        let shutdown = Task { await session.shutdown() }
        shutdown.cancel()
        #expect(await ending()?.isCancellation == true)
        await shutdown.value
        scene.trap.release()
    }

    @Test func `Cancelling all requests reaches those that are being intercepted`() async throws {
        let scene = FixtureSession(.retrier)
        let endings = (0..<10).map { _ in scene.request(.data).1 }
        await scene.trap.reached()
        await scene.session.cancelAllRequests()
        for ending in endings { #expect(await ending()?.isCancellation == true) }
        scene.trap.release()
    }
}
