public import Bluebonnet
public import Foundation

extension RetryResult {
    /// Try again after a delay in seconds; see `retryWithDelay` with a `Duration`.
    public static func retryWithDelay(_ delay: TimeInterval) -> RetryResult {
        // A duration of no number of seconds is a trap.
        .retryWithDelay(.seconds(delay.isFinite ? min(max(delay, 0), 1e9) : 0))
    }
}
