import FoundationEssentials

/// What a download needs besides its request: where the file goes, and what it begins with.
final class DownloadPlan: Sendable {
    let destination: DownloadDestination
    /// What an earlier download left off with.
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

    /// Lets time pass between the attempts of a download that goes on by itself.
    let sleep: Sleep

    init(destination: DownloadDestination, resumeData: Data?, sleep: @escaping Sleep) {
        self.destination = destination
        self.resumeData = resumeData
        self.sleep = sleep
    }
}
