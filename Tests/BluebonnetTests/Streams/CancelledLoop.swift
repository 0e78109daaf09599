@testable import Bluebonnet

/// Counts what a loop receives, and cancels the loop's task at each element.
struct CancelledLoop {
    private let received = Locked(0)

    var count: Int { received.withLock(\.self) }

    func receive() {
        received.withLock { $0 += 1 }
        unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
    }
}
