/// Says how far a body is.
public struct TransferProgress: Hashable, Sendable {
    /// How many bytes are done, decoded from their content coding.
    public var completed: Int64

    /// How many bytes there will be, if that is known.
    public var total: Int64?

    /// Creates a progress.
    ///
    /// - Parameters:
    ///   - completed: How many bytes are done.
    ///   - total: How many bytes there will be, if that is known.
    public init(completed: Int64 = 0, total: Int64? = nil) {
        self.completed = completed
        self.total = total
    }

    /// The part that is done, from 0 to 1, if the total is known.
    public var fractionCompleted: Double? {
        guard let total else { return nil }
        return total > 0 ? min(1, Double(completed) / Double(total)) : 1
    }
}
