public import Bluebonnet
public import Foundation

extension Progress {
    /// Creates a progress that says what a transfer's progress says now.
    ///
    /// - Parameter transfer: How far the body is.
    public convenience init(_ transfer: TransferProgress) {
        self.init(totalUnitCount: -1)
        kind = .file
        update(to: transfer)
    }

    /// Says from now on what a transfer's progress says.
    ///
    /// The total is -1 while it is not known. A body of no bytes counts as one unit, done: Foundation's progress traps
    /// when its total is set to zero. Changes the progress where it is called: on Linux a `Progress` has no lock, so use
    /// one from one thread or actor only.
    ///
    /// - Parameter transfer: How far the body is.
    public func update(to transfer: TransferProgress) {
        let total = transfer.total.map { $0 == 0 ? 1 : $0 } ?? -1
        let completed = transfer.total == 0 ? 1 : transfer.completed
        if totalUnitCount != total { totalUnitCount = total }
        if completedUnitCount != completed { completedUnitCount = completed }
    }

    /// Says what a sequence of progress says until that ends, such as `request.downloadProgressUpdates()`.
    ///
    /// Runs on the caller's actor and changes the progress nowhere else:
    ///
    /// ```swift
    /// Task { @MainActor in await progress.follow(request.downloadProgressUpdates()) }
    /// ```
    ///
    /// Ends early when its task is cancelled. Following neither starts nor slows the request; to have the progress
    /// cancel it, set `cancellationHandler`.
    ///
    /// - Parameter updates: The sequence.
    public func follow(_ updates: StreamOf<TransferProgress>) async {
        for await transfer in updates { update(to: transfer) }
    }
}
