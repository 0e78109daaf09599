import FoundationEssentials

/// The settings of a download in addition to its request, and the sink of its body.
final class DownloadPlan: ResponseSink {
    let destination: DownloadDestination
    /// The resume data of an earlier download.
    let resumeData: Data?
    /// Whether the partial file is removed if the request is cancelled.
    let discardsPartialFile = Locked(false)
    /// The validators of the complete file, which run before the file is moved to its destination.
    let validators = Locked<[Validation]>([])
    /// The expected checksum of the complete file.
    let checksum = Locked<DownloadChecksum?>(nil)

    /// A validator of the complete file; see ``DownloadRequest/validate(_:)``.
    typealias Validation =
        @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse, _ fileURL: URL?) throws -> ValidationResult

    /// The closure that waits between the attempts of a download that resumes automatically.
    let sleep: SessionContext.Sleep

    init(destination: DownloadDestination, resumeData: Data?, sleep: @escaping SessionContext.Sleep) {
        self.destination = destination
        self.resumeData = resumeData
        self.sleep = sleep
    }

    var needsPreparation: Bool { true }

    func makeWriter() -> any SinkWriter { FileDownload(self) }
}
