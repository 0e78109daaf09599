import FoundationEssentials

/// The destination of the response bodies of one kind of request.
enum ResponseSink: Sendable {
    /// Collected in memory, for serializers.
    case memory
    /// Delivered to its readers as it arrives.
    case stream(BodyFanOut)
    /// Written to a file.
    case file(DownloadPlan)

    /// Whether the head is checked before any of the body is received.
    var pausesBody: Bool {
        switch self {
        case .memory: false
        case .stream, .file: true
        }
    }

    /// Whether work must be done before the first exchange, and not on the caller's thread.
    var needsPreparation: Bool { if case .file = self { true } else { false } }

    /// Ends the body after the request has ended.
    func finish(with error: RequestError?) {
        switch self {
        case .memory, .file: break
        case .stream(let body): body.finish(with: error)
        }
    }
}

/// The parts of a download in addition to its request: the destination of the file, and the resume data.
final class DownloadPlan: Sendable {
    let destination: DownloadDestination
    /// The resume data of an earlier download.
    let resumeData: Data?
    /// Whether the partial file is removed if the request is cancelled.
    let discardsPartialFile = Locked(false)
    /// The checks of the complete file, before it is moved into place.
    let validators = Locked<[Validation]>([])

    /// A check of the complete file; see ``DownloadRequest/validate(_:)``.
    typealias Validation =
        @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse, _ fileURL: URL?) throws -> ValidationResult

    /// Waits for a duration; ends early if its task is cancelled.
    typealias Sleep = @Sendable (Duration) async throws -> Void

    /// Waits between the attempts of a download that resumes automatically.
    let sleep: Sleep

    init(destination: DownloadDestination, resumeData: Data?, sleep: @escaping Sleep) {
        self.destination = destination
        self.resumeData = resumeData
        self.sleep = sleep
    }
}
