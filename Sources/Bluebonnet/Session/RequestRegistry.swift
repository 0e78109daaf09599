/// Knows a session's requests that are under way or awaited, and who waits for them to end, as a value.
struct RequestRegistry {
    /// What the reporter of an event has to do.
    enum Action {
        case nothing
        /// Resume those whose wait is over.
        case resume([Resumption<Void>])
    }

    /// Someone who waits for requests to end.
    private struct Waiter {
        /// Those that have not ended.
        var requests: Set<RequestID>
        let continuation: Resumption<Void>
    }

    private(set) var requests: [RequestID: any Request] = [:]
    private var waiters: [Waiter] = []
    private(set) var isShutDown = false

    /// A request is about to begin; returns whether it may.
    mutating func began(_ request: any Request) -> Bool {
        guard !isShutDown else { return false }
        requests[request.id] = request
        return true
    }

    /// A request has been answered; returns it, to be released without the lock.
    mutating func ended(_ id: RequestID) -> (action: Action, request: (any Request)?) {
        let request = requests.removeValue(forKey: id)
        guard request != nil, !waiters.isEmpty else { return (.nothing, request) }
        for index in waiters.indices { waiters[index].requests.remove(id) }
        let done = waiters.filter(\.requests.isEmpty)
        waiters.removeAll(where: \.requests.isEmpty)
        return (.resume(done.map(\.continuation)), request)
    }

    mutating func shutDown() {
        isShutDown = true
    }

    /// Someone waits for the requests to end that are there now.
    mutating func awaited(by continuation: Resumption<Void>) -> Action {
        guard !requests.isEmpty else { return .resume([continuation]) }
        waiters.append(Waiter(requests: Set(requests.keys), continuation: continuation))
        return .nothing
    }
}
