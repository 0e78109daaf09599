// Records a server's responses and replays them without the server, with custom transports.

import Bluebonnet
import BluebonnetTesting
import Synchronization

// snippet.recorder
/// Sends requests with libcurl, and records the outcome of each request.
final class Recorder: Transport {
    private let inner = CurlTransport()
    private let outcomes = Mutex<[String: ExchangeOutcome]>([:])

    var tape: [String: ExchangeOutcome] { outcomes.withLock(\.self) }
    var executor: (any TaskExecutor)? { inner.executor }
    var cookieStorage: (any CookieStorage)? { inner.cookieStorage }
    func evaluateServers(using manager: ServerTrustManager) -> Bool { inner.evaluateServers(using: manager) }
    func renewConnections() { inner.renewConnections() }
    func shutDown() async { await inner.shutDown() }

    func start(_ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver) -> any Exchange {
        let listener = Listener(observer) { outcome in self.outcomes.withLock { $0[request.key] = outcome } }
        return inner.start(request, options: options, observer: listener)
    }
}

/// Forwards all calls, and records the outcome.
final class Listener: ExchangeObserver {
    private let next: any ExchangeObserver
    private let note: @Sendable (ExchangeOutcome) -> Void

    init(_ next: any ExchangeObserver, note: @escaping @Sendable (ExchangeOutcome) -> Void) {
        self.next = next
        self.note = note
    }

    func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {
        next.exchangeDidSend(sent, ofExpected: expected)
    }

    func exchangeDidReceiveHead(_ response: HTTPResponse) { next.exchangeDidReceiveHead(response) }

    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {
        next.exchangeDidReceive(received, ofExpected: expected)
    }

    func exchangeDidComplete(_ outcome: ExchangeOutcome) {
        note(outcome)
        next.exchangeDidComplete(outcome)
    }
}
// snippet.end

// snippet.replayer
/// Returns the recorded outcomes without a network.
struct Replayer: Transport {
    let tape: [String: ExchangeOutcome]
    var executor: (any TaskExecutor)? { nil }
    func shutDown() async {}

    func start(_ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver) -> any Exchange {
        let refused = ExchangeOutcome(response: nil, error: RequestError(.connection(.refused)))
        let replay = Replay(outcome: tape[request.key] ?? refused, observer: observer)
        if options.pausesBody, let head = replay.outcome.response {
            observer.exchangeDidReceiveHead(head)
        } else {
            replay.receiveBody(with: nil)
        }
        return replay
    }
}

/// Delivers a recorded outcome as soon as the body may be delivered.
struct Replay: Exchange {
    let outcome: ExchangeOutcome
    let observer: any ExchangeObserver
    private let isOver = Flag()

    init(outcome: ExchangeOutcome, observer: any ExchangeObserver) {
        self.outcome = outcome
        self.observer = observer
    }

    func receiveBody(with receiver: (any BodyReceiver)?) {
        guard isOver.set() else { return }
        Task {
            guard let receiver else { return observer.exchangeDidComplete(outcome) }
            if !outcome.body.isEmpty { _ = receiver.receive(outcome.body) }
            observer.exchangeDidComplete(ExchangeOutcome(response: outcome.response, error: outcome.error))
        }
    }

    func cancel() {
        guard isOver.set() else { return }
        Task { observer.exchangeDidComplete(ExchangeOutcome(response: nil, error: RequestError(.cancelled))) }
    }

    func suspend() {}
    func resume() {}
    func receiveMore() {}
}
// snippet.end

/// A flag that is set once.
final class Flag: Sendable {
    private let isSet = Atomic(false)

    func set() -> Bool { !isSet.exchange(true, ordering: .acquiringAndReleasing) }
}

extension HTTPRequest {
    /// The key of the request's outcome in the recording.
    var key: String { "\(method) \(url)" }
}

enum RecordAndReplay {
    static func run() async throws {
        let server = try await LocalServer { router in router.get("/report", .json(["city": "Turku"])) }
        let url = server.url("/report")
        // snippet.use
        let recorder = Recorder()
        let recording = Session(transport: recorder)
        let first = try await recording.request(url).serializingJSON().value
        await recording.shutdown()

        let replaying = Session(transport: Replayer(tape: recorder.tape))
        let second = try await replaying.request(url).serializingJSON().value
        // snippet.end
        print(first == second ? "The same answer, by \(server.requestCount) request." : "Another answer!")
        await replaying.shutdown()
    }
}

try await RecordAndReplay.run()
