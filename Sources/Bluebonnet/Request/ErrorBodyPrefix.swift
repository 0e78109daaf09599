import FoundationEssentials

/// A body receiver that keeps the beginning of a body for an error.
final class ErrorBodyPrefix: BodyReceiver {
    private let limit: Int
    private let kept = Locked(Data())

    init(limit: Int) {
        self.limit = limit
    }

    /// The bytes that were kept so far.
    var bytes: Data { kept.withLock { $0 } }

    func receive(_ bytes: Data) -> ReceiveAction {
        kept.withLock { kept in
            kept.append(bytes.prefix(limit - kept.count))
            return kept.count < limit ? .proceed : .stop
        }
    }
}
