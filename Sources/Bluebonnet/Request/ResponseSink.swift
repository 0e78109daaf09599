/// Where a kind of request puts the bodies of its responses.
enum ResponseSink: Sendable {
    /// Collected in memory, for serializers.
    case memory
    /// Handed to whoever reads it, as it comes.
    case stream(BodyFanOut)
    /// Written to a file.
    case file(DownloadPlan)

    /// Whether the head is judged before any of the body comes.
    var holdsBody: Bool {
        switch self {
        case .memory: false
        case .stream, .file: true
        }
    }

    /// Whether something has to be done, off the caller's thread, before the first exchange.
    var needsPreparation: Bool { if case .file = self { true } else { false } }

    /// The request has ended, and everyone can learn how.
    func finish(with error: RequestError?) {
        switch self {
        case .memory, .file: break
        case .stream(let body): body.finish(with: error)
        }
    }
}
