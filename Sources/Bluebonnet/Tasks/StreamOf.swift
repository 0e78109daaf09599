/// A sequence of values of a running request, such as its progress.
///
/// The sequence ends when the request has finished. A sequence that is created after the request has finished contains
/// only the latest value, if there is one. A slow loop over the sequence does not delay the request. The
/// ``StreamBufferingPolicy`` determines which values are kept for a slow loop. Only the policy
/// ``StreamBufferingPolicy/unbounded`` has no limit on the number of kept values.
///
/// Several `for await` loops can use the same sequence at the same time, independently of each other. The sequence
/// keeps values from its creation on, and the first loop receives the kept values. Each later loop begins with the
/// latest value, if there is one. If a loop ends or its task is cancelled, other loops are not affected.
///
/// A sequence of the events of a streamed body, such as ``DataStreamTask/streamingData(automaticallyCancelling:)``,
/// behaves differently. Each loop receives the whole body, and a slow loop can pause the transfer. ``DataStreamTask``
/// describes how to read a body with several loops.
public struct StreamOf<Element: Sendable>: AsyncSequence, Sendable {
    /// Swift 6.2 cannot optimize a stored closure that returns `any StreamSource<Element>`.
    private let makeIterator: @Sendable () -> Iterator

    /// Creates a sequence that calls `makeSource` for each loop.
    package init(makeSource: @escaping @Sendable () -> any StreamSource<Element>) {
        makeIterator = { Iterator(source: makeSource()) }
    }

    /// Creates an iterator for one loop over the sequence.
    ///
    /// - Returns: The iterator, which receives values until it is released.
    public func makeAsyncIterator() -> Iterator {
        makeIterator()
    }

    /// The iterator of a ``StreamOf``.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let source: any StreamSource<Element>

        /// Waits for the next value.
        ///
        /// If the current Swift task is cancelled, this call and all later calls return `nil`.
        ///
        /// - Returns: The next value, or `nil` if the sequence has ended or the Swift task was cancelled.
        public mutating func next() async -> Element? {
            await source.next()
        }

        /// Waits for the next value.
        ///
        /// If the current Swift task is cancelled, this call and all later calls return `nil`.
        ///
        /// - Parameter actor: The actor that the caller is isolated to.
        /// - Returns: The next value, or `nil` if the sequence has ended or the Swift task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await source.next()
        }
    }
}

extension StreamOf {
    /// Returns a sequence of transformed elements, whose observations are observations of this sequence.
    ///
    /// An element for which the closure returns `nil` is omitted.
    package func mapped<Other>(_ transform: @escaping @Sendable (Element) -> Other?) -> StreamOf<Other> {
        StreamOf<Other> { MappedSource(self.makeIterator().source, transform) }
    }
}

/// Transforms the values of another source.
private final class MappedSource<Original: Sendable, Element: Sendable>: StreamSource {
    private let original: any StreamSource<Original>
    private let transform: @Sendable (Original) -> Element?

    init(_ original: any StreamSource<Original>, _ transform: @escaping @Sendable (Original) -> Element?) {
        self.original = original
        self.transform = transform
    }

    nonisolated(nonsending) func next() async -> Element? {
        while let value = await original.next() {
            if let element = transform(value) { return element }
        }
        return nil
    }
}

/// A policy that determines which values of a ``StreamOf`` are kept for a slow loop.
public enum StreamBufferingPolicy: Hashable, Sendable {
    /// Keeps all values.
    case unbounded
    /// Keeps the newest values, up to this number.
    case newest(Int)
    /// Keeps the oldest values, up to this number, and drops new values while the buffer is full.
    case oldest(Int)

    /// Keeps only the newest value, for example for progress.
    public static let latest = StreamBufferingPolicy.newest(1)

    /// Keeps the newest 256 values.
    package static let events = StreamBufferingPolicy.newest(256)
}

/// The source of the values for one loop over a ``StreamOf``.
///
/// The source receives values until it is released.
package protocol StreamSource<Element>: AnyObject, Sendable {
    /// The type of the values.
    associatedtype Element: Sendable

    /// Waits for the next value, or returns `nil` at the end of the values.
    nonisolated(nonsending) func next() async -> Element?
}
