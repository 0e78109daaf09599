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
    public init(completed: Int64 = 0, total: Int64? = nil, bytesPerSecond: Double? = nil) {
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
