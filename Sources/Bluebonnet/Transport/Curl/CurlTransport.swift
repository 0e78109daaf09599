import Synchronization

/// Makes requests with libcurl: the transport of every session that is not given another.
///
/// To record and replay, to inject faults or to share exchanges, write a ``Transport`` around one of these, which
/// passes all other work on to it, and give yours to a ``Session``. The session shuts it down when the session ends; a
/// transport without a session must be shut down by its owner, or its connections stay open.
///
/// A thin hull around an engine on an ``EventLoop``: it takes calls from any thread and hands them on, in order.
public final class CurlTransport: Transport {
    private let loop: EventLoop
    private let engine: TransferEngine
    private let lastID = Atomic<TransferID>(0)
    private let keepsCookies: Bool

    /// Creates a transport.
    ///
    /// Nothing is opened or started before the first exchange.
    ///
    /// - Parameters:
    ///   - configuration: How requests are made; the session should have the same one. Its settings for the network
    ///     count here: default fields, limits, timeouts, connections, proxy, TLS, cookies. The cache, and everything
    ///     above the transport, is the session's business.
    ///   - serverTrustManager: Assigns evaluators to hosts; by default, libcurl checks the certificates.
    public init(configuration: Session.Configuration = .default, serverTrustManager: ServerTrustManager? = nil) {
        loop = configuration.eventLoop ?? EventLoop()
        engine = TransferEngine(
            loop: loop, configuration: configuration, serverTrustManager: serverTrustManager)
        keepsCookies = configuration.cookies.policy != .never
    }

    /// The event loop on which libcurl runs.
    public var executor: (any TaskExecutor)? { loop }

    /// The cookies that libcurl keeps and sends; `nil` if the configuration turns cookies off.
    public var cookieStorage: (any CookieStorage)? { keepsCookies ? engine : nil }

    /// Sets the manager whose evaluators check servers; see ``Transport/evaluateServers(using:)``.
    ///
    /// - Parameter manager: The manager.
    /// - Returns: `false` if the transport has a manager already, which it keeps, or was used before.
    public func evaluateServers(using manager: ServerTrustManager) -> Bool {
        // The manager's evaluators would not have checked connections that were made before.
        lastID.load(ordering: .relaxed) == 0 && engine.setServerTrustManager(manager)
    }

    /// Starts an exchange; see ``Transport/start(_:options:observer:)``.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - options: The options of this exchange alone.
    ///   - observer: The receiver of the events, on the event loop's thread.
    /// - Returns: The exchange.
    public func start(
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

    /// Ends the running exchanges with `.sessionShutDown`, and closes the connections.
    public func shutDown() async {
        await engine.shutDown()
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

/// A command of a transport to its engine, from any thread.
enum EngineCommand: Sendable {
    case start(TransferID, HTTPRequest, UploadBody, ExchangeOptions, any ExchangeObserver)
    /// Answers a request whose body cannot be had.
    case refuse(RequestError, any ExchangeObserver)
    case cancel(TransferID)
    case suspend(TransferID)
    case resume(TransferID)
    /// Names the receiver of the body that was held back; without one, the body is collected.
    case receiveBody(TransferID, (any BodyReceiver)?)
    /// There is room again where the body goes.
    case receiveMore(TransferID)
    /// There are bytes of the request's body that libcurl had asked for.
    case sendMore(TransferID)

    var isStart: Bool { if case .start = self { true } else { false } }
}
