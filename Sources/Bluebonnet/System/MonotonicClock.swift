import CSystem

/// The system's monotonic clock, which never goes back, even if the time of day is changed.
package enum MonotonicClock {
    /// Returns nanoseconds since an unspecified time before the program started.
    package static func now() -> Int64 { bb_monotonic_now() }
}
