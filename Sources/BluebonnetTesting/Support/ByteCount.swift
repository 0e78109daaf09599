import Synchronization

/// Counts bytes on the loop, for everyone to see.
final class ByteCount: Sendable {
    private let bytes = Atomic<Int>(0)

    var value: Int { bytes.load(ordering: .relaxed) }

    func add(_ count: Int) {
        bytes.add(count, ordering: .relaxed)
    }
}
