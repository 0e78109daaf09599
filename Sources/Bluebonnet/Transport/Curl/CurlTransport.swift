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
            engine.accept(.start(id, request, try upload(for: request, id), options, observer))
        } catch {
            engine.accept(.refuse(error, observer))
        }
        return CurlExchange(id: id, engine: engine)
    }

    private func upload(for request: HTTPRequest, _ id: TransferID) throws(RequestError) -> UploadBody {
        guard let body = request.body, body.data == nil, let opened = try body.open() else {
            return UploadBody(request.body?.data, of: request)
        }
        return .channel(
            UploadChannel(opened, isReplayable: body.isReplayable) { [engine] in engine.accept(.sendMore(id)) })
    }

    func shutDown() async {
        await engine.shutDown()
    }

    /// Has the engine do something on the loop, and returns what comes of it.
    func onLoop<Result: Sendable>(
        _ work: @escaping @Sendable (isolated TransferEngine) -> Result
    ) async -> Result {
        await withResumption { continuation in
            loop.submit { [engine] in
                continuation.resume(returning: engine.assumeIsolated { work($0) })
            }
        }
    }
}

/// The handle of one transfer, for any thread.
private struct CurlExchange: Exchange {
    let id: TransferID
    let engine: TransferEngine

    func cancel() { engine.accept(.cancel(id)) }

    func suspend() { engine.accept(.suspend(id)) }

    func resume() { engine.accept(.resume(id)) }

    func receiveBody(with receiver: (any BodyReceiver)?) { engine.accept(.receiveBody(id, receiver)) }

    func receiveMore() { engine.accept(.receiveMore(id)) }
}
