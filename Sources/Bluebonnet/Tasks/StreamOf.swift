/// A sequence of values that a request sends while it runs.
///
/// The values of which an observer has not asked for the next one yet are kept by a ``StreamBufferingPolicy``, so that a
/// slow observer costs bounded memory and never slows the request. The sequence ends when the request has ended; one that
/// is asked for afterwards yields the latest value, if there is one to replay, and ends.
///
/// Every `for await` observes by itself, also two of them over the same sequence at once. The first one begins with the
/// values sent since the sequence was made, later ones with the latest value. Leaving the loop, and cancelling the task
/// that runs it, ends that observation and no other.
///
/// The events of a streamed body, such as ``DataStreamTask/streamingData(automaticallyCancelling:)``, are another matter:
/// a reader joins when a loop begins, gets the whole body, and holds the body back when it is slow. See
/// ``DataStreamTask`` for several readers.
public struct StreamOf<Element: Sendable>: AsyncSequence, Sendable {
    private let makeSource: @Sendable () -> any StreamSource<Element>

    /// Creates a sequence each of whose observations begins with its loop.
    package init(makeSource: @escaping @Sendable () -> any StreamSource<Element>) {
        self.makeSource = makeSource
    }

    /// Creates an observation of the sequence.
    ///
    /// - Returns: The iterator; dropping it ends the observation.
    public func makeAsyncIterator() -> Iterator {
        Iterator(source: makeSource())
    }

    /// Observes a ``StreamOf``.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let source: any StreamSource<Element>

        /// Returns the next value, when there is one.
        ///
        /// Cancelling the task ends the observation: `nil`, now and from then on.
        ///
        /// - Returns: The next value, or `nil` when the sequence or the observation has ended.
        public mutating func next() async -> Element? {
            await source.next()
        }

        /// Returns the next value, when there is one.
        ///
        /// Cancelling the task ends the observation: `nil`, now and from then on.
        ///
        /// - Parameter actor: The actor that the caller is isolated to.
        /// - Returns: The next value, or `nil` when the sequence or the observation has ended.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await source.next()
        }
    }
}

extension StreamOf {
    /// A sequence of the transformed elements; each observation of it is one of this sequence.
    func mapped<Other>(_ transform: @escaping @Sendable (Element) -> Other) -> StreamOf<Other> {
        StreamOf<Other> { MappedSource(self.makeSource(), transform) }
    }
}

/// Takes values from another source, and makes others of them.
private final class MappedSource<Original: Sendable, Element: Sendable>: StreamSource {
    private let original: any StreamSource<Original>
    private let transform: @Sendable (Original) -> Element

    init(_ original: any StreamSource<Original>, _ transform: @escaping @Sendable (Original) -> Element) {
        self.original = original
        self.transform = transform
    }

    nonisolated(nonsending) func next() async -> Element? { await original.next().map(transform) }
}

/// Says which elements of a sequence are kept for an observer that is slower than they come.
public enum StreamBufferingPolicy: Hashable, Sendable {
    /// Keeps all of them.
    case unbounded
    /// Keeps the newest ones, this many.
    case newest(Int)
    /// Keeps the oldest ones, this many, and drops what comes while they are waiting.
    case oldest(Int)

    /// Keeps the newest one: right for values of which only the latest counts, such as progress.
    @usableFromInline package static let latest = StreamBufferingPolicy.newest(1)

    /// Keeps the newest 256: for events of which each one counts.
    package static let events = StreamBufferingPolicy.newest(256)
}

/// What an observer of a ``StreamOf`` takes its values from; dropping it ends the observation.
package protocol StreamSource<Element>: AnyObject, Sendable {
    /// What it has.
    associatedtype Element: Sendable

    /// Returns the next value, waiting for it, or `nil` when there is none to come.
    nonisolated(nonsending) func next() async -> Element?
}
