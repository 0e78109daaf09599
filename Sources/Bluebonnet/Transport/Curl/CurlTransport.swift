import FoundationEssentials
import Synchronization

/// The default transport of sessions, which sends requests with libcurl.
///
/// To record and replay responses, or to simulate network errors, write your own ``Transport``. Your transport can wrap
/// a ``CurlTransport`` and forward calls to the wrapped transport. Pass your transport to a ``Session``.
///
/// A session shuts down its transport when the session is shut down, or when the session is released and has no more
/// requests. If you use a transport without a session, you must call ``shutDown()`` yourself. Otherwise, its
/// connections stay open.
///
/// The methods may be called on any thread. They pass commands to an engine, which runs on an ``EventLoop`` and handles
/// the commands in order. If there are several event loops (``Session/Configuration/eventLoops``), each has its own
/// engine.
public final class CurlTransport: Transport {
    let group: EngineGroup
    let engines: [TransferEngine]
    private let lastNumber = Atomic<Int>(0)
    private let limitsUploads: Bool

    /// Creates a transport.
    ///
    /// The transport starts no thread and opens no connection until you use it.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of the session that uses the transport. The transport uses
    ///     the network settings: default header fields, limits, timeouts, connections, proxy, TLS and cookies. The
    ///     session itself uses the other settings, such as the cache.
    ///   - serverTrustManager: The manager that assigns evaluators to hosts. With `nil`, the default, libcurl checks
    ///     the certificates.
    public init(configuration: Session.Configuration = .default, serverTrustManager: ServerTrustManager? = nil) {
        var configuration = configuration
        var loops = [configuration.eventLoop ?? EventLoop()]
        while loops.count < LoopShares(configuration).loops { loops.append(EventLoop()) }
        // A loop without descriptors would fail each of its requests, and would therefore seem to be idle.
        let usable = loops.filter(\.isUsable)
        if usable.count < loops.count {
            loops = usable.isEmpty ? [loops[0]] : usable
            configuration.eventLoops = .init(loops.count)
        }
        let group = EngineGroup(configuration, serverTrustManager)
        self.group = group
        engines = loops.prefix(group.shares.loops).enumerated().map { index, loop in
            TransferEngine(loop: loop, configuration: configuration, group: group, loopIndex: index)
        }
        limitsUploads = configuration.speedLimits.upload != nil
    }

    /// The event loop on which libcurl runs; if there are several event loops, the first one.
    public var executor: (any TaskExecutor)? { engines[0].loop }

    /// The storage of the cookies; `nil` if the cookie policy is `.never`.
    public var cookieStorage: (any CookieStorage)? { group.cookies }

    /// Sets the manager whose evaluators check servers; see ``Transport/evaluateServers(using:)``.
    ///
    /// - Parameter manager: The manager that assigns evaluators to hosts.
    /// - Returns: Whether the transport uses the manager. The value is `false` if the transport already has a manager
    ///   or has already started an exchange.
    public func evaluateServers(using manager: ServerTrustManager) -> Bool {
        // The manager's evaluators have not checked the connections that are already open.
        lastNumber.load(ordering: .relaxed) == 0 && group.setServerTrustManager(manager)
    }

    /// Starts an exchange; see ``Transport/start(_:options:observer:)``.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - options: The options for this exchange only.
    ///   - observer: The observer, which receives the events on the event loop's thread.
    /// - Returns: The handle that cancels, suspends and resumes the exchange.
    public func start(
        _ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver
    ) -> any Exchange {
        let id = group.choose(for: request, lastNumber.add(1, ordering: .relaxed).newValue)
        let engine = engines[EngineGroup.loop(of: id)]
        ConnectionBudget.shared.exchangeBegan()
        do throws(RequestError) {
            engine.accept(.start(id, request, try upload(for: request, id, engine), options, observer))
        } catch {
            ConnectionBudget.shared.exchangeEnded()
            group.ended(id, nil)
            engine.accept(.refuse(error, observer))
        }
        return CurlExchange(id: id, engine: engine)
    }

    private func upload(
        for request: HTTPRequest, _ id: TransferID, _ engine: TransferEngine
    ) throws(RequestError) -> UploadBody {
        // Files that wait for a connection are few; see ``FilePlaces``.
        guard group.queue != nil, request.hasBody, request.body?.data == nil else {
            return try openedUpload(for: request, id, engine)
        }
        return .unopened { [self] () throws(RequestError) in try openedUpload(for: request, id, engine) }
    }

    private func openedUpload(
        for request: HTTPRequest, _ id: TransferID, _ engine: TransferEngine
    ) throws(RequestError) -> UploadBody {
        // Each copy of an optional body takes 150 instructions.
        guard request.hasBody else { return UploadBody(nil, of: request, isLimited: false) }
        guard let body = request.body, body.data == nil, let opened = try body.open() else {
            let isLimited = limitsUploads || request.speedLimits.upload != nil
            return UploadBody(request.body?.data, of: request, isLimited: isLimited)
        }
        return .channel(
            UploadChannel(opened, isReplayable: body.isReplayable) { engine.accept(.sendMore(id)) })
    }

    /// Ends the exchanges that wait in a queue, and were not sent, with `.sessionShutDown`.
    func refuseWaiting() { group.refuseWaiting() }

    /// Closes the idle connections; see ``Session/renewConnections()``.
    public func renewConnections() { group.renewConnections() }

    /// Returns the current counts of all event loops; see ``Session/connectionCounts()``.
    ///
    /// - Returns: The counts.
    public func connectionCounts() async -> ConnectionCounts {
        guard !ForkedProcess.isCopy else { return ConnectionCounts() }
        var counts = ConnectionCounts(waiting: group.queue?.withLock { $0.waitingCount } ?? 0)
        for engine in engines { counts += await engine.connectionCounts }
        return counts
    }

    /// Ends the running exchanges with `.sessionShutDown`, closes the connections and frees the transport's resources.
    public func shutDown() async {
        group.queue?.withLock { $0.close() }
        for engine in engines { await engine.shutDown() }
        group.close()
    }
}

/// A handle of a transfer that can be used on any thread.
private struct CurlExchange: Exchange {
    let id: TransferID
    let engine: TransferEngine

    func cancel() { engine.accept(.cancel(id)) }

    func suspend() { engine.accept(.suspend(id)) }

    func resume() { engine.accept(.resume(id)) }

    func receiveBody(with receiver: (any BodyReceiver)?) { engine.accept(.receiveBody(id, receiver)) }

    func receiveMore() { engine.accept(.receiveMore(id)) }

    func send(_ bytes: Data) { engine.accept(.send(id, bytes)) }
}

/// A command from a transport to its engine, sent from any thread.
enum EngineCommand: Sendable {
    case start(TransferID, HTTPRequest, UploadBody, ExchangeOptions, any ExchangeObserver)
    /// Fails a request whose body cannot be opened.
    case refuse(RequestError, any ExchangeObserver)
    case cancel(TransferID)
    case suspend(TransferID)
    case resume(TransferID)
    /// Sets the receiver of the body that was held back; `nil` collects the body.
    case receiveBody(TransferID, (any BodyReceiver)?)
    /// Continues the delivery of the body, because its receiver has room again.
    case receiveMore(TransferID)
    /// Continues the upload, because the bytes that libcurl requested are now available.
    case sendMore(TransferID)
    /// Sends bytes on the transfer's upgraded connection.
    case send(TransferID, Data)
    case renewConnections
    /// The session is shut down, so that the exchanges that wait for a connection are not sent.
    case refuseWaiting
    /// Lets libcurl notice that the flood guard has ended a connection.
    case connectionCut(Int32)
    /// Closes the connections that no exchange uses.
    case closeUnused
    /// Starts the exchanges that no longer have to wait for connections.
    case startQueued
    /// Starts a transfer that no longer has to wait for other exchanges.
    case granted(TransferID)
    /// Continues a transfer whose body was opened.
    case opened(TransferID, Result<UploadBody, RequestError>)

    var isStart: Bool { if case .start = self { true } else { false } }
}
