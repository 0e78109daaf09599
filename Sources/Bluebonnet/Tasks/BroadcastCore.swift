/// What a ``Broadcast`` and its observers share: one lock around everything that is waiting.
///
/// One lock for all observers, so that every one of them sees concurrent sends in the same order.
final class BroadcastCore<Element: Sendable>: Sendable {
    /// What an observer that asks for a value gets at once.
    enum Taken {
        case element(Element)
        case ended
        /// Nothing yet.
        case none
    }

    private typealias Continuation = Resumption<Element?>

    private struct Observer {
        let id: UInt64
        var buffer: StreamBuffer<Element>
        /// More than one only when copies of an iterator are used at once.
        var waiting: [Continuation] = []
        var onTermination: (@Sendable (StreamTermination) -> Void)?

        /// Keeps a value, or returns whom to resume with it; and returns the value that had to make room.
        mutating func receive(_ element: Element) -> (continuation: Continuation?, dropped: Element?) {
            guard waiting.isEmpty else { return (waiting.removeFirst(), nil) }
            return (nil, buffer.append(element))
        }
    }

    private struct State {
        let replaysLatest: Bool
        var latest: Element?
        var isFinished = false
        /// Seldom more than a few.
        var observers: [Observer] = []
        var nextID: UInt64 = 0

        mutating func take(_ id: UInt64) -> Taken {
            // An observer that is not there was ended by its cancellation.
            guard let index = index(of: id) else { return .ended }
            if let element = observers[index].buffer.popFirst() { return .element(element) }
            return isFinished ? .ended : .none
        }

        func index(of id: UInt64) -> Int? { observers.firstIndex { $0.id == id } }
    }

    private let state: Locked<State>

    init(replaysLatest: Bool, latest: Element?) {
        state = Locked(State(replaysLatest: replaysLatest, latest: replaysLatest ? latest : nil))
    }

    var latest: Element? { state.withLock { $0.latest } }

    func subscribe(
        bufferingPolicy: StreamBufferingPolicy, onTermination: (@Sendable (StreamTermination) -> Void)?
    ) -> StreamSubscription<Element> {
        let (id, isFinished) = state.withLock { state in
            var observer = Observer(id: state.nextID, buffer: StreamBuffer(bufferingPolicy))
            if let latest = state.latest { _ = observer.buffer.append(latest) }
            if !state.isFinished { observer.onTermination = onTermination }
            state.nextID += 1
            state.observers.append(observer)
            return (observer.id, state.isFinished)
        }
        if isFinished { onTermination?(.finished) }
        return StreamSubscription(core: self, id: id)
    }

    func send(_ element: Element) {
        // What is dropped goes when the lock is released: it may be of the user's.
        let (waiting, _) = state.withLock { state -> ([Continuation], FewOf<Element>) in
            var dropped = FewOf<Element>()
            guard !state.isFinished else { return ([], dropped) }
            if state.replaysLatest, let earlier = exchange(&state.latest, with: element) { dropped.append(earlier) }
            var waiting: [Continuation] = []
            for index in state.observers.indices {
                let received = state.observers[index].receive(element)
                if let continuation = received.continuation { waiting.append(continuation) }
                if let element = received.dropped { dropped.append(element) }
            }
            return (waiting, dropped)
        }
        for continuation in waiting { continuation.resume(returning: element) }
    }

    func finish() {
        let (waiting, hooks) = state.withLock { state in
            guard !state.isFinished else { return ([Continuation](), [@Sendable (StreamTermination) -> Void]()) }
            state.isFinished = true
            var waiting: [Continuation] = []
            var hooks: [@Sendable (StreamTermination) -> Void] = []
            for index in state.observers.indices {
                waiting += state.observers[index].waiting
                state.observers[index].waiting = []
                if let hook = state.observers[index].onTermination.take() { hooks.append(hook) }
            }
            return (waiting, hooks)
        }
        for continuation in waiting { continuation.resume(returning: nil) }
        for hook in hooks { hook(.finished) }
    }

    /// Ends one observer; what waits for it is dropped.
    func endObserver(_ id: UInt64) {
        let observer = state.withLock { state in state.index(of: id).map { state.observers.remove(at: $0) } }
        guard let observer else { return }
        for continuation in observer.waiting { continuation.resume(returning: nil) }
        observer.onTermination?(.cancelled)
    }

    /// Takes the next value of an observer if there is one.
    func takeNow(_ id: UInt64) -> Taken {
        state.withLock { $0.take(id) }
    }

    /// Resumes the continuation with the next value of an observer, as soon as there is one.
    func take(_ id: UInt64, _ continuation: Resumption<Element?>) {
        let taken = state.withLock { state in
            let taken = state.take(id)
            if case .none = taken, let index = state.index(of: id) {
                state.observers[index].waiting.append(continuation)
            }
            return taken
        }
        switch taken {
        case .element(let element): continuation.resume(returning: element)
        case .ended: continuation.resume(returning: nil)
        case .none: break
        }
    }
}
