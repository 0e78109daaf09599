/// Sends values to any number of observers, which are loops over its sequences.
///
/// All methods may be called from any thread. They hold a lock for a short time, and call no other code while they hold
/// the lock. A broadcast finishes when it is released.
package final class Broadcast<Element: Sendable>: Sendable {
    private let core: BroadcastCore<Element>

    /// Creates a broadcast.
    ///
    /// - Parameters:
    ///   - replaysLatest: Whether a new observer begins with the latest value, if there is one; `true` by default.
    ///   - latest: The initial latest value; `nil`, the default, for none. It is ignored if `replaysLatest` is `false`.
    package init(replaysLatest: Bool = true, latest: Element? = nil) {
        core = BroadcastCore(replaysLatest: replaysLatest, latest: latest)
    }

    deinit {
        core.finish()
    }

    /// The latest value, or `nil` if no value was sent or values are not replayed.
    package var latest: Element? { core.latest }

    /// Sends a value to all observers, unless the broadcast has finished.
    package func send(_ element: Element) {
        core.send(element)
    }

    /// Finishes the broadcast.
    ///
    /// Every sequence delivers its buffered values and then ends.
    package func finish() {
        core.finish()
    }

    /// Returns a sequence of the values that are sent from now on.
    ///
    /// If values are replayed, the sequence begins with the latest value, if there is one. A loop over the sequence is
    /// an observation. When an observation ends, `onTermination` is called once, on the thread that ends the
    /// observation, while no lock is held.
    package func stream(
        bufferingPolicy: StreamBufferingPolicy,
        onTermination: (@Sendable (StreamTermination) -> Void)? = nil
    ) -> StreamOf<Element> {
        let subscribe = { @Sendable [core] in
            core.subscribe(bufferingPolicy: bufferingPolicy, onTermination: onTermination)
        }
        // The first loop receives the values that were sent since the sequence was created.
        let first = Locked<StreamSubscription<Element>?>(subscribe())
        return StreamOf { first.withLock { $0.take() } ?? subscribe() }
    }

    /// Begins one observation, and calls `onTermination` when it ends.
    package func subscribe(
        bufferingPolicy: StreamBufferingPolicy, onTermination: (@Sendable (StreamTermination) -> Void)? = nil
    ) -> any StreamSource<Element> { core.subscribe(bufferingPolicy: bufferingPolicy, onTermination: onTermination) }
}

/// The way in which an observation ended.
package enum StreamTermination: Hashable, Sendable {
    /// The broadcast finished.
    case finished
    /// The loop ended early, or its Swift task was cancelled.
    case cancelled
}

/// The state that a ``Broadcast`` and its observers share.
///
/// All observers share one lock, so that they receive concurrently sent values in the same order.
final class BroadcastCore<Element: Sendable>: Sendable {
    /// The result for an observer that requests a value.
    enum NextValue {
        case element(Element)
        case ended
        /// There is no value yet.
        case none
    }

    private typealias Continuation = Resumption<Element?>
    typealias Hook = @Sendable (StreamTermination) -> Void

    private struct Observer {
        let id: UInt64
        var buffer: StreamBuffer<Element>
        /// The waiting calls, which are several only if copies of an iterator are used at the same time.
        var waiting: [Continuation] = []
        var onTermination: Hook?

        /// Buffers a value, or returns the continuation that must be resumed with it.
        ///
        /// If the buffer drops a value, the method also returns this value.
        mutating func receive(_ element: Element) -> (continuation: Continuation?, dropped: Element?) {
            guard waiting.isEmpty else { return (waiting.removeFirst(), nil) }
            return (nil, buffer.append(element))
        }
    }

    private struct State {
        let replaysLatest: Bool
        var latest: Element?
        var isFinished = false
        /// The observers, usually only a few.
        var observers: [Observer] = []
        var nextID: UInt64 = 0

        mutating func take(_ id: UInt64) -> NextValue {
            // If the observer does not exist, it was ended by a cancellation.
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
        bufferingPolicy: StreamBufferingPolicy, onTermination: Hook?
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
        // Dropped values are released after the lock, because their deinitializers may run user code.
        let (waiting, _) = state.withLock { state -> ([Continuation], TinyArray<Element>) in
            var dropped = TinyArray<Element>()
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
        let ended = state.withLock { state -> [(waiting: [Continuation], hook: Hook?)] in
            guard !state.isFinished else { return [] }
            state.isFinished = true
            return state.observers.indices.map { index in
                (exchange(&state.observers[index].waiting, with: []), state.observers[index].onTermination.take())
            }
        }
        for continuation in ended.flatMap(\.waiting) { continuation.resume(returning: nil) }
        for observer in ended { observer.hook?(.finished) }
    }

    /// Ends one observer, and drops its buffered values.
    func endObserver(_ id: UInt64) {
        let observer = state.withLock { state in state.index(of: id).map { state.observers.remove(at: $0) } }
        guard let observer else { return }
        for continuation in observer.waiting { continuation.resume(returning: nil) }
        observer.onTermination?(.cancelled)
    }

    /// Takes the next value of an observer, without waiting.
    func takeNow(_ id: UInt64) -> NextValue {
        state.withLock { $0.take(id) }
    }

    /// Resumes the continuation with the next value of an observer when the value is available.
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

/// One observation of a ``Broadcast``, which ends when it is released.
package final class StreamSubscription<Element: Sendable>: StreamSource {
    private let core: BroadcastCore<Element>
    private let id: UInt64

    init(core: BroadcastCore<Element>, id: UInt64) {
        self.core = core
        self.id = id
    }

    deinit {
        core.endObserver(id)
    }

    /// Waits for the next value, or returns `nil` if the observation has ended.
    package nonisolated(nonsending) func next() async -> Element? {
        // Most values are available immediately, so the cancellation handler is only installed for a wait.
        switch Task.isCancelled ? .ended : core.takeNow(id) {
        case .element(let element): return element
        case .ended:
            core.endObserver(id)
            return nil
        case .none: break
        }
        return await withTaskCancellationHandler {
            await withResumption { continuation in
                core.take(id, continuation)
            }
        } onCancel: {
            core.endObserver(id)
        }
    }
}

/// The buffered values of one observer, in the order in which they were sent.
private struct StreamBuffer<Element> {
    private let policy: StreamBufferingPolicy
    private var elements = ElementQueue<Element>()

    init(_ policy: StreamBufferingPolicy) {
        self.policy = policy
    }

    /// The number of buffered values.
    var count: Int { elements.count }

    /// Adds a value, unless the policy drops it.
    ///
    /// The method returns the older value that was dropped, if any.
    mutating func append(_ element: Element) -> Element? {
        var dropped: Element?
        switch policy {
        case .unbounded: break
        case .oldest(let limit):
            guard count < limit else { return nil }
        case .newest(let limit):
            guard limit > 0 else { return nil }
            if count >= limit { dropped = popFirst() }
        }
        elements.append(element)
        return dropped
    }

    /// Removes and returns the oldest value.
    mutating func popFirst() -> Element? { elements.popFirst() }
}
