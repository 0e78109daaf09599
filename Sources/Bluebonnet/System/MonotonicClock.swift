import CSystem

/// The system's monotonic clock, which never runs backwards.
package enum MonotonicClock {
    /// Returns the time in nanoseconds, measured from an unspecified point before the program started.
    package static func now() -> Int64 { bb_monotonic_now() }
}
