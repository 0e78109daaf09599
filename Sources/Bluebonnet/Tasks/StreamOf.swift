/// A sequence of values that a request sends while it runs.
///
/// A ``StreamBufferingPolicy`` decides which values are kept for an observer that falls behind. A slow observer
/// therefore uses bounded memory, unless the policy is ``StreamBufferingPolicy/unbounded``, and it never slows the
/// request. The sequence ends when the request ends. A sequence that is requested later yields the latest value, if
/// there is one to replay, and ends.
///
/// Every `for await` loop observes independently, even if several loops use the same sequence at once. The first loop
/// begins with the values sent since the sequence was made, later loops with the latest value. Leaving a loop, or
/// cancelling its task, ends only that observation.
///
/// The events of a streamed body behave differently, for example those of
/// ``DataStreamTask/streamingData(automaticallyCancelling:)``. When a loop begins, a reader joins; it receives the
/// whole body, and pauses the transfer when it is slow. ``DataStreamTask`` explains how to use several readers.
public struct StreamOf<Element: Sendable>: AsyncSequence, Sendable {
    private let makeSource: @Sendable () -> any StreamSource<Element>

    /// Creates a sequence that begins a new observation for each loop.
    package init(makeSource: @escaping @Sendable () -> any StreamSource<Element>) {
        self.makeSource = makeSource
    }

    /// Begins an observation of the sequence.
    ///
    /// - Returns: The iterator; releasing it ends the observation.
    public func makeAsyncIterator() -> Iterator {
        Iterator(source: makeSource())
    }

    /// The iterator of a ``StreamOf``.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let source: any StreamSource<Element>

        /// Waits for the next value.
        ///
        /// Cancelling the task ends the observation: this call and all later calls return `nil`.
        ///
        /// - Returns: The next value, or `nil` if the sequence or the observation has ended.
        public mutating func next() async -> Element? {
            await source.next()
        }

        /// Waits for the next value.
        ///
        /// Cancelling the task ends the observation: this call and all later calls return `nil`.
        ///
        /// - Parameter actor: The actor that the caller is isolated to.
        /// - Returns: The next value, or `nil` if the sequence or the observation has ended.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await source.next()
        }
    }
}

extension StreamOf {
    /// A sequence of transformed elements; each of its observations is one observation of this sequence.
    func mapped<Other>(_ transform: @escaping @Sendable (Element) -> Other) -> StreamOf<Other> {
        StreamOf<Other> { MappedSource(self.makeSource(), transform) }
    }
}

/// Transforms the values of another source.
private final class MappedSource<Original: Sendable, Element: Sendable>: StreamSource {
    private let original: any StreamSource<Original>
    private let transform: @Sendable (Original) -> Element

    init(_ original: any StreamSource<Original>, _ transform: @escaping @Sendable (Original) -> Element) {
        self.original = original
        self.transform = transform
    }

    nonisolated(nonsending) func next() async -> Element? { await original.next().map(transform) }
}

/// Decides which values of a sequence are kept for an observer that falls behind.
public enum StreamBufferingPolicy: Hashable, Sendable {
    /// Keeps all values.
    case unbounded
    /// Keeps this many of the newest values.
    case newest(Int)
    /// Keeps this many of the oldest values, and drops new values while the buffer is full.
    case oldest(Int)

    /// Keeps only the newest value, for values such as progress where only the latest matters.
    public static let latest = StreamBufferingPolicy.newest(1)

    /// Keeps the newest 256 values, for events where each one matters.
    package static let events = StreamBufferingPolicy.newest(256)
}

/// The source of the values of one ``StreamOf`` observation; releasing it ends the observation.
package protocol StreamSource<Element>: AnyObject, Sendable {
    /// The type of its values.
    associatedtype Element: Sendable

    /// Waits for the next value; returns `nil` when there are no more.
    nonisolated(nonsending) func next() async -> Element?
}
