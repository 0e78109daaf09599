/// Tells whoever wants to know that the machine's network may have changed; one for the whole process.
///
/// Has a socket and a thread while somebody listens, and nothing before and after.
final class NetworkWatcher: Sendable {
    /// Called on the thread of a loop, at once and after each burst of changes.
    ///
    /// It may be called once more after it was removed.
    typealias Listener = @Sendable (_ loop: EventLoop) -> Void

    /// Names a listener.
    struct ListenerID: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct State {
        var listeners: [ListenerID: Listener] = [:]
        var nextNumber: UInt64 = 0
        var watch: NetworkWatch?

        mutating func added(_ listener: @escaping Listener) -> ListenerID {
            defer { nextNumber += 1 }
            let id = ListenerID(number: nextNumber)
            listeners[id] = listener
            return id
        }
    }

    static let shared = NetworkWatcher(patience: .seconds(5), openSocket: NetlinkSocket.forChanges)

    private let state = Locked(State())
    private let patience: Duration
    private let openSocket: @Sendable () -> NetlinkSocket?

    /// Creates a watcher.
    ///
    /// - Parameters:
    ///   - patience: How long until the system is asked again for a socket that it did not give.
    ///   - openSocket: Asks the system for one.
    init(patience: Duration, openSocket: @escaping @Sendable () -> NetlinkSocket?) {
        self.patience = patience
        self.openSocket = openSocket
    }

    /// Adds a listener, and begins to watch if it is the first.
    func add(_ listener: @escaping Listener) -> ListenerID {
        let (id, watch, isFirst) = state.withLock { state in
            let id = state.added(listener)
            if let watch = state.watch { return (id, watch, false) }
            let watch = NetworkWatch(of: self, patience: patience, openSocket: openSocket)
            state.watch = watch
            return (id, watch, true)
        }
        // The one whom a new watch is made for is called, with all others, when it has begun.
        if isFirst { watch.begin() } else { watch.call(listener) }
        return id
    }

    /// Removes a listener, and ends the watch if it was the last.
    func remove(_ id: ListenerID) {
        let watch = state.withLock { state -> NetworkWatch? in
            state.listeners[id] = nil
            return state.listeners.isEmpty ? state.watch.take() : nil
        }
        watch?.end()
    }

    /// Those who are called by a watch, as long as it is the one that counts.
    func listeners(of watch: NetworkWatch) -> [Listener] {
        state.withLock { $0.watch === watch ? Array($0.listeners.values) : [] }
    }

    /// How many listen.
    var listenerCount: Int { state.withLock { $0.listeners.count } }
}
