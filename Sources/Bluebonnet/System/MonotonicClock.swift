import CSystem

/// The system's clock that never goes back, whatever is done to the time of day.
enum MonotonicClock {
    /// Nanoseconds since some moment before the program began.
    static func now() -> Int64 { bb_monotonic_now() }
}
