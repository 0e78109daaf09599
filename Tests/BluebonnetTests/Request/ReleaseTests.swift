import BluebonnetTesting
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

/// Values of the user's are never released under a lock that their `deinit` may need.
///
/// The test runs in its own process, so that a signal can end a deadlock.
@Suite(.timeLimit(.minutes(10))) struct ReleaseTests {
    @Test func `A value that is replaced by a cancellation may use its task`() async {
        await #expect(processExitsWith: .success) {
            Release.endOnDeadlock()
            let released = Gate()
            let task = Locked<DataTask<DeinitAction>?>(nil)
            let request = try Release.request()
            let first = request.serializingResponse(
                using: ClosureResponseSerializer { _ in
                    DeinitAction {
                        task.withLock { $0 }?.onCompletion { _ in }
                        task.withLock { $0 }?.cancel()
                        released.open()
                    }
                })
            task.withLock { $0 = first }
            _ = request.serializingResponse(using: ClosureResponseSerializer { _ in request.cancel() })
            request.resume()
            #expect(await first.response.error?.kind == .cancelled)
            await released.wait()
        }
    }

    @Test func `A value that is released by the next attempt may use its task`() async {
        await #expect(processExitsWith: .success) {
            Release.endOnDeadlock()
            let released = Gate()
            let task = Locked<DataTask<DeinitAction>?>(nil)
            let request = try Release.request().retry { request, _, _ in request.retryCount == 0 ? .retry : .doNotRetry
            }
            let first = request.serializingResponse(
                using: ClosureResponseSerializer { _ in
                    DeinitAction {
                        task.withLock { $0 }?.onCompletion { _ in }
                        released.open()
                    }
                })
            task.withLock { $0 = first }
            _ = request.serializingResponse(
                using: ClosureResponseSerializer { _ in
                    if request.retryCount == 0 { throw TestFailure("no") }
                })
            request.resume()
            _ = await first.response
            await released.wait()
            #expect(request.retryCount == 1)
        }
    }

    @Test func `The outcome of an attempt may use the request during its release`() async {
        await #expect(processExitsWith: .success) {
            Release.endOnDeadlock()
            Release.replaceAttempts()
        }
    }

    @Test func `Handlers that are replaced may use their request`() async {
        await #expect(processExitsWith: .success) {
            Release.endOnDeadlock()
            let request = try Release.request()
            for _ in 0..<2 {
                request.redirect(using: DeinitHandler(touch: DeinitAction { _ = request.state }))
                request.cacheResponse(using: DeinitHandler(touch: DeinitAction { request.cancel() }))
            }
        }
    }

    @Test func `A monitor's closure that is replaced may use the monitor`() async {
        await #expect(processExitsWith: .success) {
            Release.endOnDeadlock()
            let monitor = ClosureEventMonitor()
            for _ in 0..<2 {
                let touch = DeinitAction { [weak monitor] in _ = monitor?.requestDidFinish }
                monitor.requestDidFinish = { _ in withExtendedLifetime(touch) {} }
            }
        }
    }

    @Test func `Values that newer values replace may use their broadcast`() async {
        await #expect(processExitsWith: .success) {
            Release.endOnDeadlock()
            let broadcast = Broadcast<DeinitAction>(replaysLatest: false)
            let replaying = Broadcast<DeinitAction>()
            let values = broadcast.stream(bufferingPolicy: .newest(1)).makeAsyncIterator()
            for _ in 0..<3 {
                broadcast.send(DeinitAction { [weak broadcast] in _ = broadcast?.latest })
                replaying.send(DeinitAction { [weak replaying] in _ = replaying?.latest })
            }
            withExtendedLifetime(values) {}
        }
    }

    @Test func `The demand for a body may use the body when an attempt replaces it`() async {
        await #expect(processExitsWith: .success) {
            Release.endOnDeadlock()
            let body = BodyFanOut(highWatermark: 1, lowWatermark: 0)
            for _ in 0..<2 {
                let touch = DeinitAction { [weak body] in body?.taskBegan() }
                body.onDemand { withExtendedLifetime(touch) {} }
                body.onAbandonment { withExtendedLifetime(touch) {} }
            }
            body.finish()
        }
    }

    @Test func `Pieces of a body may use the upload during their release`() async {
        await #expect(processExitsWith: .success) {
            Release.endOnDeadlock()
            let wakeUps = AsyncStream.makeStream(of: Void.self)
            let box = Locked<UploadChannel?>(nil)
            let body = RequestBody.stream {
                AsyncStream { stream in
                    for _ in 0..<3 { stream.yield(Release.piece { _ = box.withLock { $0 }?.hasBegun }) }
                    stream.finish()
                }
            }
            let opened = try #require(try body.open())
            let channel = UploadChannel(opened) { wakeUps.continuation.yield() }
            box.withLock { $0 = channel }
            var woken = wakeUps.stream.makeAsyncIterator()
            var buffer = [UInt8](repeating: 0, count: 150)
            while true {
                let action = unsafe buffer.withUnsafeMutableBytes { unsafe channel.take(into: $0) }
                if case .took = action { break }
                await woken.next()
            }
            channel.abandon()
        }
    }

    @Test func `A stub's handler that is replaced may use the stub`() async {
        await #expect(processExitsWith: .success) {
            Release.endOnDeadlock()
            let transport = StubTransport()
            for _ in 0..<2 {
                let touch = DeinitAction { [weak transport] in _ = transport?.requestCount }
                transport.stub(.get, "/") { _ in
                    withExtendedLifetime(touch) { .status(200) }
                }
            }
        }
    }
}

/// The shared functions of the release tests.
private enum Release {
    /// Has a signal end the process if it hangs.
    static func endOnDeadlock() { alarm(30) }

    /// A request that a stub answers with nothing, once it is awaited.
    static func request() throws -> DataRequest {
        let transport = StubTransport { _ in .status(200) }
        let session = Session(startRequestsImmediately: false, transport: transport)
        return session.request("http://stub.example/")
    }

    /// Lets a machine record the results of attempts that access it when they are released.
    static func replaceAttempts() {
        let machine = Locked(RequestMachine<Int>())
        for _ in 0..<2 {
            let touch = DeinitAction { _ = machine.withLock { $0.state } }
            let error = RequestError(.validation(.customValidationFailed), underlying: TouchingError(touch: touch))
            let attempt = CompletedAttempt(request: nil, outcome: nil, error: error, attempts: 1)
            _ = machine.withLock { $0.recorded { $0.came(to: attempt) } }
        }
        _ = machine.withLock { $0.recorded { $0.forgetAttempt() } }
        #expect(machine.withLock { $0.record.last } == nil)
    }

    /// Some bytes with a closure that runs at their release.
    static func piece(_ touch: @escaping @Sendable () -> Void) -> Data {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 100, alignment: 1)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: 100)
        return unsafe Data(
            bytesNoCopy: memory, count: 100,
            deallocator: .custom { memory, _ in
                unsafe memory.deallocate()
                touch()
            })
    }
}

/// Calls a closure at its release.
private final class DeinitAction: Sendable {
    private let touch: @Sendable () -> Void

    init(_ touch: @escaping @Sendable () -> Void) { self.touch = touch }

    deinit { touch() }
}

private struct TouchingError: Error {
    let touch: DeinitAction
}

private struct DeinitHandler: RedirectHandler, CachedResponseHandler {
    let touch: DeinitAction

    func request(
        _ request: any Request, willBeRedirectedTo newRequest: HTTPRequest, for response: HTTPResponse
    ) async -> HTTPRequest? { newRequest }

    func request(_ request: any Request, willCacheResponse response: CachedResponse) async -> CachedResponse? {
        response
    }
}
