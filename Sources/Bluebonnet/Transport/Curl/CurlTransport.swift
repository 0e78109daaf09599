import Synchronization

/// Makes requests with libcurl: the transport of every session that is not given another.
///
/// A thin hull around the engine: it takes calls from any thread and hands them to the loop, in order.
final class CurlTransport: Transport {
    private let loop: EventLoop
    private let engine: TransferEngine
    private let lastID = Atomic<TransferID>(0)

    init(configuration: Session.Configuration, serverTrustManager: ServerTrustManager? = nil) {
        loop = configuration.eventLoop ?? EventLoop()
        engine = TransferEngine(
            loop: loop, configuration: configuration, serverTrustManager: serverTrustManager)
    }

    var executor: (any TaskExecutor)? { loop }

    func start(
        _ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver
    ) -> any Exchange {
        let id = lastID.add(1, ordering: .relaxed).newValue
        do throws(RequestError) {
            let upload = try upload(for: request, id)
            loop.submit { [engine] in
                engine.assumeIsolated { $0.start(id, request, upload, options, observer) }
            }
        } catch {
            loop.submit { [engine, error] in engine.assumeIsolated { $0.refuse(error, observer) } }
        }
        return CurlExchange(id: id, loop: loop, engine: engine)
    }

    private func upload(for request: HTTPRequest, _ id: TransferID) throws(RequestError) -> UploadBody {
        guard let body = request.body, body.data == nil, let opened = try body.open() else {
            return UploadBody(request.body?.data, of: request)
        }
        return .channel(
            UploadChannel(opened, isReplayable: body.isReplayable) { [loop, engine] in
                loop.submit { engine.assumeIsolated { $0.bodyArrived(id) } }
            })
    }

    func shutDown() async {
        await engine.shutDown()
    }

    /// Has the engine do something on the loop, and returns what comes of it.
    func onLoop<Result: Sendable>(
        _ work: @escaping @Sendable (isolated TransferEngine) -> Result
    ) async -> Result {
        await withCheckedContinuation { continuation in
            loop.submit { [engine] in
                continuation.resume(returning: engine.assumeIsolated { work($0) })
            }
        }
    }
}

/// The handle of one transfer, for any thread.
private struct CurlExchange: Exchange {
    let id: TransferID
    let loop: EventLoop
    let engine: TransferEngine

    func cancel() {
        loop.submit { [engine, id] in engine.assumeIsolated { $0.cancel(id) } }
    }

    func suspend() {
        loop.submit { [engine, id] in engine.assumeIsolated { $0.suspend(id) } }
    }

    func resume() {
        loop.submit { [engine, id] in engine.assumeIsolated { $0.resume(id) } }
    }

    func receiveBody(with receiver: (any BodyReceiver)?) {
        loop.submit { [engine, id] in engine.assumeIsolated { $0.receiveBody(id, with: receiver) } }
    }

    func receiveMore() {
        loop.submit { [engine, id] in engine.assumeIsolated { $0.receiveMore(id) } }
    }
}
