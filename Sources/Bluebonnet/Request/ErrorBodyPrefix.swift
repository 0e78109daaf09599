import FoundationEssentials

/// Keeps the beginning of a body that is not wanted otherwise, for an error to show.
final class ErrorBodyPrefix: BodyReceiver {
    private let limit: Int
    private let kept = Locked(Data())

    init(limit: Int) {
        self.limit = limit
    }

    /// The kept part of the bytes received so far.
    var bytes: Data { kept.withLock { $0 } }

    func receive(_ bytes: Data) -> ReceiveAction {
        kept.withLock { kept in
            kept.append(bytes.prefix(limit - kept.count))
            return kept.count < limit ? .proceed : .stop
        }
    }
}
