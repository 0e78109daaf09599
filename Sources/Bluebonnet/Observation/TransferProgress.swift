import Glibc

/// Says how far a body is.
public struct TransferProgress: Hashable, Sendable {
    /// How many bytes are done: of a response, decoded from their content coding; of a request, taken by the transport.
    public var completed: Int64

    /// How many bytes there will be, if that is known.
    public var total: Int64?

    /// How many bytes come or go per second, of late; `nil` as long as there is too little to tell by.
    ///
    /// A mean over the last seconds in which older ones count for less and less. Bytes that were there before, as of a
    /// download that was resumed, do not count.
    public var bytesPerSecond: Double?

    /// Creates a progress.
    ///
    /// - Parameters:
    ///   - completed: How many bytes are done.
    ///   - total: How many bytes there will be, if that is known.
    ///   - bytesPerSecond: How many bytes come or go per second, if that is known.
    package init(completed: Int64 = 0, total: Int64? = nil, bytesPerSecond: Double? = nil) {
        self.completed = completed
        self.total = total
        self.bytesPerSecond = bytesPerSecond
    }

    /// The part that is done, from 0 to 1, if the total is known.
    public var fractionCompleted: Double? {
        guard let total else { return nil }
        return total > 0 ? min(1, Double(completed) / Double(total)) : 1
    }

    /// How long the rest takes if it goes on like this; `nil` as long as that is not known, or when it stands still.
    ///
    /// More than ten years are not known.
    public var estimatedTimeRemaining: Duration? {
        guard let total else { return nil }
        let rest = Double(total) - Double(completed)
        guard rest > 0 else { return .zero }
        guard let bytesPerSecond, bytesPerSecond > 0 else { return nil }
        let seconds = rest / bytesPerSecond
        return seconds <= 10 * 365 * 86_400 ? .seconds(seconds) : nil
    }
}

/// Measures how fast a body comes or goes.
///
/// A pure value, with the time as a parameter. Made to be asked at every turn of the loop: it allocates nothing, and
/// computes once in a tenth of a second.
struct ProgressMeter: Hashable, Sendable {
    /// How long it takes for what was measured to count for only a third (1/e), in nanoseconds.
    static let memory: Int64 = 3_000_000_000

    /// How much time a measurement takes at least, in nanoseconds: shorter ones say more about buffers than about networks.
    static let interval: Int64 = 100_000_000

    /// The mean of the measurements, each weighted by its age.
    private var mean = 0.0
    /// How much weight the measurements have together: 0 at first, then closer and closer to 1.
    private var weight = 0.0
    /// The completed bytes at the end of the last measurement, and the time of that.
    private var measured: Int64
    private var measuredAt: Int64

    /// Creates a meter.
    ///
    /// - Parameters:
    ///   - completed: How many bytes are done already, which do not count.
    ///   - now: The time, in nanoseconds of the monotonic clock.
    init(completed: Int64 = 0, now: Int64) {
        measured = completed
        measuredAt = now
    }

    /// Takes note of how far the body is.
    ///
    /// - Parameters:
    ///   - completed: How many bytes are done. Fewer than before mean that it began again, and so does the measuring.
    ///   - total: How many bytes there will be, if that is known.
    ///   - now: The time, in nanoseconds of the monotonic clock.
    /// - Returns: The progress with the rate of the last seconds.
    mutating func update(completed: Int64, total: Int64?, now: Int64) -> TransferProgress {
        if completed < measured {
            self = ProgressMeter(completed: completed, now: now)
        } else if now - measuredAt >= Self.interval {
            measure(completed, now)
        }
        // Before the weights add up to 1, the mean of what there is: a rate from the first measurement on.
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
