import Synchronization

/// Names a request within the process.
public struct RequestID: Hashable, Sendable, CustomStringConvertible {
    let number: UInt64

    private static let last = Atomic<UInt64>(0)

    static func next() -> RequestID {
        RequestID(number: last.add(1, ordering: .relaxed).newValue)
    }

    /// The number of the request, counted from 1.
    public var description: String { "\(number)" }
}
