/// Sends values to any number of observers; the sequences of a request are its
/// ``stream(bufferingPolicy:onTermination:)``s.
///
/// All methods may be called from any thread, take one lock for a moment, and call nothing while they hold it. Without
/// observers, sending a value costs that lock and storing the value. A broadcast finishes when it is released.
package final class Broadcast<Element: Sendable>: Sendable {
    private let core: BroadcastCore<Element>

    /// Creates a broadcast.
    ///
    /// - Parameters:
    ///   - replaysLatest: Whether a new observer begins with the latest value, if there is one; `true` by default.
    ///   - latest: The value that the first observer begins with, as if it had been sent.
    package init(replaysLatest: Bool = true, latest: Element? = nil) {
        core = BroadcastCore(replaysLatest: replaysLatest, latest: latest)
    }

    deinit {
        core.finish()
    }

    /// The latest value, if one was sent and is replayed.
    package var latest: Element? { core.latest }

    /// Sends a value to all observers; does nothing once finished.
    package func send(_ element: Element) {
        core.send(element)
    }

    /// Ends every sequence after its buffered values, including sequences that are created later.
    package func finish() {
        core.finish()
    }

    /// Returns a sequence that begins now.
    ///
    /// The hook is called once for each observation that has ended, by the code that ended it, without a lock.
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

    /// Begins one observation; the hook is called at its end.
    package func subscribe(
        bufferingPolicy: StreamBufferingPolicy, onTermination: (@Sendable (StreamTermination) -> Void)? = nil
    ) -> any StreamSource<Element> { core.subscribe(bufferingPolicy: bufferingPolicy, onTermination: onTermination) }
}

/// The way in which an observation ended.
package enum StreamTermination: Hashable, Sendable {
    /// The broadcast finished.
    case finished
    /// The loop was left, or its task was cancelled.
    case cancelled
}

/// The state that a ``Broadcast`` and its observers share.
///
/// All observers share one lock, so that every observer sees concurrent sends in the same order.
final class BroadcastCore<Element: Sendable>: Sendable {
    /// The answer to an observer that requests a value.
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
        /// More than one only if copies of an iterator are used at once.
        var waiting: [Continuation] = []
        var onTermination: Hook?

        /// Buffers a value, or returns the continuation to resume with it; also returns the value that was dropped.
        mutating func receive(_ element: Element) -> (continuation: Continuation?, dropped: Element?) {
            guard waiting.isEmpty else { return (waiting.removeFirst(), nil) }
            return (nil, buffer.append(element))
        }
    }

    private struct State {
        let replaysLatest: Bool
        var latest: Element?
        var isFinished = false
        /// Rarely more than a few.
        var observers: [Observer] = []
        var nextID: UInt64 = 0

        mutating func take(_ id: UInt64) -> NextValue {
            // A missing observer was ended by its cancellation.
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
        // Dropped values are released after the lock: their deinitializers may be user code.
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

    /// Ends one observer; its buffered values are dropped.
    func endObserver(_ id: UInt64) {
        let observer = state.withLock { state in state.index(of: id).map { state.observers.remove(at: $0) } }
        guard let observer else { return }
        for continuation in observer.waiting { continuation.resume(returning: nil) }
        observer.onTermination?(.cancelled)
    }

    /// Takes the next value of an observer, if there is one.
    func takeNow(_ id: UInt64) -> NextValue {
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

/// One observation of a ``Broadcast``; it ends when it is released.
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

    /// Waits for the next value; returns `nil` when there are no more.
    package nonisolated(nonsending) func next() async -> Element? {
        // Most values are available at once, so the cancellation handler is only set up for a wait.
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

/// The buffered values of one observer, oldest first, as many as its policy allows.
private struct StreamBuffer<Element> {
    private let policy: StreamBufferingPolicy
    private var elements: [Element?] = []
    private var head = 0

    init(_ policy: StreamBufferingPolicy) {
        self.policy = policy
    }

    /// The number of buffered values.
    var count: Int { elements.count - head }

    /// Adds a value, unless the policy drops it; returns the older value that was dropped for it.
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
    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head].take()
        head += 1
        // Moving the remaining values once half of the buffer is used costs at most one move per value on average.
        if head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }
}
