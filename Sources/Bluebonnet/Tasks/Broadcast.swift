/// Sends values to any number of observers; owned by a request, whose sequences are its ``stream(bufferingPolicy:)``s.
///
/// All methods may be called from anywhere, take one lock for a moment, and call nothing while they hold it. When nobody
/// observes, sending costs that lock and keeping the value. A broadcast that is dropped is finished.
package final class Broadcast<Element: Sendable>: Sendable {
    private let core: BroadcastCore<Element>

    /// Creates a broadcast.
    ///
    /// - Parameters:
    ///   - replaysLatest: Whether a new observer begins with the latest value, if there was one.
    ///   - latest: The value that the first observer begins with, as if it had been sent.
    package init(replaysLatest: Bool = true, latest: Element? = nil) {
        core = BroadcastCore(replaysLatest: replaysLatest, latest: latest)
    }

    deinit {
        core.finish()
    }

    /// The latest value, if one was sent and is replayed.
    package var latest: Element? { core.latest }

    /// Hands a value to everyone who observes; does nothing once finished.
    package func send(_ element: Element) {
        core.send(element)
    }

    /// Ends every sequence after the values that wait in it; also those asked for later.
    package func finish() {
        core.finish()
    }

    /// Returns a sequence that begins now.
    ///
    /// The hook is called once for each observation that has ended, by whoever ended it, without a lock held.
    package func stream(
        bufferingPolicy: StreamBufferingPolicy,
        onTermination: (@Sendable (StreamTermination) -> Void)? = nil
    ) -> StreamOf<Element> {
        StreamOf { [core] in core.subscribe(bufferingPolicy: bufferingPolicy, onTermination: onTermination) }
    }

    /// Begins one observation, which the hook is told the end of.
    package func subscribe(
        bufferingPolicy: StreamBufferingPolicy, onTermination: (@Sendable (StreamTermination) -> Void)? = nil
    ) -> any StreamSource<Element> { core.subscribe(bufferingPolicy: bufferingPolicy, onTermination: onTermination) }
}

/// How an observation ended.
package enum StreamTermination: Hashable, Sendable {
    /// The broadcast finished.
    case finished
    /// The observer left: its loop was left, or its task was cancelled.
    case cancelled
}
