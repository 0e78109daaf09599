import BluebonnetLibc

/// The progress of a request or response body.
public struct TransferProgress: Hashable, Sendable {
    /// The number of completed bytes.
    ///
    /// For a response body, the number counts the received bytes after content decoding. For a request body, the number
    /// counts the bytes that Bluebonnet has passed to libcurl for sending.
    public var completed: Int64

    /// The expected number of bytes, or `nil` if it is unknown.
    public var total: Int64?

    /// The current rate in bytes per second, or `nil` if there is too little data to compute it.
    ///
    /// The rate is a weighted mean. The last seconds have the largest weight. If a download continues after an earlier
    /// attempt, the bytes of the earlier attempt do not count.
    public var bytesPerSecond: Double?

    /// The fraction of a response body whose length is known only before content decoding.
    package var codedFraction: Double?

    /// Creates a progress value.
    ///
    /// - Parameters:
    ///   - completed: The number of completed bytes.
    ///   - total: The expected number of bytes, or `nil` if it is unknown.
    ///   - bytesPerSecond: The current rate in bytes per second, or `nil` if it is unknown.
    public init(completed: Int64 = 0, total: Int64? = nil, bytesPerSecond: Double? = nil) {
        self.completed = completed
        self.total = total
        self.bytesPerSecond = bytesPerSecond
    }

    /// The completed fraction from 0 to 1, or `nil` if it is unknown.
    ///
    /// For a response body with a content coding, such as gzip, the fraction is that of the bytes before decoding, if
    /// the response has a `Content-Length` field. The ``total`` is unknown in this case.
    public var fractionCompleted: Double? {
        guard let total else { return codedFraction }
        return total > 0 ? min(1, Double(completed) / Double(total)) : 1
    }

    /// The estimated time until the transfer is complete, at the current rate.
    ///
    /// The time is zero if no bytes remain. The time is `nil` if ``fractionCompleted`` is unknown. If bytes remain, the
    /// time is also `nil` in these cases:
    /// - The rate is unknown.
    /// - The transfer has stalled, so the rate is 0.
    /// - The estimate is more than ten years.
    public var estimatedTimeRemaining: Duration? {
        let expected = total.map { Double($0) } ?? codedFraction.map { Double(completed) / $0 }
        guard let expected, expected.isFinite else { return nil }
        let rest = expected - Double(completed)
        guard rest > 0 else { return .zero }
        guard let bytesPerSecond, bytesPerSecond > 0 else { return nil }
        let seconds = rest / bytesPerSecond
        return seconds <= 10 * 365 * 86_400 ? .seconds(seconds) : nil
    }
}

/// Measures the speed of a body transfer.
///
/// The meter is a value type that receives the time as a parameter. The event loop calls it in every turn, so it
/// allocates no memory and computes the rate only once every 100 milliseconds.
struct ProgressMeter: Hashable, Sendable {
    /// The time after which the weight of a measurement has decreased to 1/e, in nanoseconds.
    static let memory: Int64 = 3_000_000_000

    /// The minimum duration of a measurement, in nanoseconds.
    ///
    /// Shorter measurements would reflect buffers instead of the network.
    static let interval: Int64 = 100_000_000

    /// The mean of the measurements, weighted by age.
    private var mean = 0.0
    /// The total weight of the measurements, which starts at 0 and approaches 1.
    private var weight = 0.0
    /// The number of completed bytes at the end of the last measurement.
    private var measured: Int64
    private var measuredAt: Int64

    /// Creates a meter.
    ///
    /// - Parameters:
    ///   - completed: The number of bytes that were completed before the start, which are not measured.
    ///   - now: The time, in nanoseconds of the monotonic clock.
    init(completed: Int64 = 0, now: Int64) {
        measured = completed
        measuredAt = now
    }

    /// Updates the number of completed bytes.
    ///
    /// - Parameters:
    ///   - completed: The number of completed bytes. If it is smaller than before, the body has started again, and the
    ///     measurement also starts again.
    ///   - total: The expected number of bytes, or `nil` if it is unknown.
    ///   - now: The time, in nanoseconds of the monotonic clock.
    /// - Returns: The progress with the current rate.
    mutating func update(completed: Int64, total: Int64?, now: Int64) -> TransferProgress {
        if completed < measured {
            self = ProgressMeter(completed: completed, now: now)
        } else if now - measuredAt >= Self.interval {
            measure(completed, now)
        }
        // The mean is divided by the total weight, so that the rate is already correct after the first measurement.
        return TransferProgress(
            completed: completed, total: total, bytesPerSecond: weight > 0 ? mean / weight : nil)
    }

    private mutating func measure(_ completed: Int64, _ now: Int64) {
        let elapsed = Double(now - measuredAt)
        let share = -expm1(-elapsed / Double(Self.memory))
        mean += share * (Double(completed - measured) * 1_000_000_000 / elapsed - mean)
        weight += share * (1 - weight)
        measured = completed
        measuredAt = now
    }
}
