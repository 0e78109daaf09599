import FoundationEssentials

/// Knows what a server has received so far, and tells those who wait for more.
final class ServerRecord: Sendable {
    private struct State: Sendable {
        var requests: RecentElements<LocalServer.Request>
        var opened = 0
        var open = 0
        var traffic = LocalServer.Traffic()
        /// The number of the last request that was given to those who asked for the next.
        var given = 0
        var isStopped = false

        func request(_ number: Int) -> Result<LocalServer.Request, any Error>? {
            if let request = requests[number] { return .success(request) }
            if number <= requests.count { return .failure(LocalServer.Failure.notRecorded) }
            return isStopped ? .failure(LocalServer.Failure.stopped) : nil
        }
    }

    private let bodyLimit: Int
    private let state: Watched<State>

    init(_ options: LocalServer.Options) {
        bodyLimit = max(0, options.recordedBodyBytes)
        state = Watched(State(requests: RecentElements(capacity: options.recordedRequests)))
    }

    var requests: [LocalServer.Request] { state.read { $0.requests.elements } }
    var requestCount: Int { state.read { $0.requests.count } }
    var connectionCount: Int { state.read { $0.opened } }
    var openConnectionCount: Int { state.read { $0.open } }

    var traffic: LocalServer.Traffic { state.read { $0.traffic } }

    // MARK: What happened

    /// Notes a request and returns its number.
    func requestReceived(_ request: LocalServer.Request) -> Int {
        let body = request.body.count > bodyLimit ? Data(request.body.prefix(bodyLimit)) : request.body
        return state.change { state in
            var kept = request
            kept.body = body
            kept.sequence = state.requests.count + 1
            state.requests.append(kept)
            return kept.sequence
        }
    }

    /// Notes a new connection and returns its number.
    func connectionOpened() -> Int {
        state.change {
            $0.opened += 1
            $0.open += 1
            return $0.opened
        }
    }

    func connectionClosed() {
        state.change { $0.open -= 1 }
    }

    func bytesMoved(sent: Int = 0, received: Int = 0) {
        state.change {
            $0.traffic.bytesSent += sent
            $0.traffic.bytesReceived += received
        }
    }

    func stopped() {
        state.change { $0.isStopped = true }
    }

    func forgetRequests() {
        state.change { $0.requests.removeAll() }
    }

    // MARK: Waiting

    /// The first request that this has not returned yet and that is still kept.
    func nextRequest() async throws -> LocalServer.Request {
        try await state.wait { state in
            let number = max(state.given, state.requests.droppedCount) + 1
            let result = state.request(number)
            if case .success = result { state.given = number }
            return result
        }
    }

    /// The request with a number, from 1 on.
    func request(_ number: Int) async throws -> LocalServer.Request {
        try await state.wait { $0.request(number) }
    }

    func waitForOpenConnections(atMost count: Int) async throws {
        try await wait { $0.open <= count }
    }

    func waitForConnections(atLeast count: Int) async throws {
        try await wait { $0.opened >= count }
    }

    func waitForTraffic(_ condition: @escaping @Sendable (LocalServer.Traffic) -> Bool) async throws {
        try await wait { !$0.isStopped && condition($0.traffic) }
    }

    private func wait(until condition: @escaping @Sendable (State) -> Bool) async throws {
        try await state.wait { state in
            if condition(state) { return .success(()) }
            return state.isStopped ? .failure(LocalServer.Failure.stopped) : nil
        }
    }
}
