import FoundationEssentials

/// Where a kind of request puts the bodies of its responses.
enum ResponseSink: Sendable {
    /// Collected in memory, for serializers.
    case memory
    /// Handed to its readers as it arrives.
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

/// The parts of a download besides its request: the destination of the file, and the resume data.
final class DownloadPlan: Sendable {
    let destination: DownloadDestination
    /// The resume data of an earlier download.
    let resumeData: Data?
    /// Whether the partial file is of no use once the request is cancelled.
    let discardsPartialFile = Locked(false)
    /// Asked about the complete file before it is moved into place.
    let validators = Locked<[Validation]>([])

    /// See ``DownloadRequest/validate(_:)``.
    typealias Validation =
        @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse, _ fileURL: URL?) throws -> ValidationResult

    /// Lets time pass; ends early when its task is cancelled.
    typealias Sleep = @Sendable (Duration) async throws -> Void

    /// Waits between the attempts of a download that resumes automatically.
    let sleep: Sleep

    init(destination: DownloadDestination, resumeData: Data?, sleep: @escaping Sleep) {
        self.destination = destination
        self.resumeData = resumeData
        self.sleep = sleep
    }
}
