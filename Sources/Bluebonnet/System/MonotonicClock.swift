import CSystem

/// The system's clock that never goes back, whatever is done to the time of day.
package enum MonotonicClock {
    /// Nanoseconds since some moment before the program began.
    package static func now() -> Int64 { bb_monotonic_now() }
}
