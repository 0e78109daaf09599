import FoundationEssentials

/// One download from its first attempt to its last; belongs to the task that drives the request.
struct FileDownload {
    /// The next step after an interruption.
    enum Interruption {
        /// All of the body is requested again, at once.
        case startOver
        /// The download resumes automatically.
        case resume(after: Duration)
        /// The retriers decide.
        case ask
        case end
    }

    let plan: DownloadPlan
    private var sink: DownloadSink?
    /// Where the file was put.
    private var fileURL: URL?
    private var resumption = AutomaticResumption()
    private var startsOver = false
    /// Whether the file was removed, since a check refused it, or taken away: then there is nothing to resume.
    private var isGone = false
    /// How often all of the body was requested again.
    private var restarts = 0

    /// How often all of the body may be requested again, since the rest is not available.
    private static let restartLimit = 3

    /// Creates the download of a request; `nil` if its body does not go to a file.
    init?(for sink: ResponseSink) {
        guard case .file(let plan) = sink else { return nil }
        self.plan = plan
    }

    // MARK: An attempt

    /// Adds the fields that ask for the rest of the file, which is opened before the first attempt.
    ///
    /// A new file is opened, too, after a file was refused or taken away: the old file could never be moved into its
    /// place.
    mutating func prepare(_ request: inout HTTPRequest) throws(RequestError) {
        if sink?.isInPlace == false { (sink, isGone) = (nil, true) }
        if sink == nil {
            sink = try DownloadSink.prepare(plan.destination, for: request, resumeData: plan.resumeData)
        }
        for field in sink?.fields(for: request) ?? [:] { request.headers.update(field) }
    }

    func headReceived(_ response: HTTPResponse) -> DownloadSink.HeadAction { sink?.headReceived(response) ?? .write }

    var positionOfBody: Int64 { sink?.positionOfBody ?? 0 }

    var total: Int64? { sink?.total }

    /// How many bytes the file has.
    var completed: Int64 { sink?.completed ?? 0 }

    func write(_ piece: Data) throws(RequestError) { try sink?.write(piece) }

    /// Asks the validators about the complete file; one that is refused is removed.
    mutating func validate(
        _ attempt: CompletedAttempt, _ response: HTTPResponse, _ events: RequestEvents?
    ) throws(RequestError) {
        let validators = plan.validators.withLock { $0 }
        let partialFileURL = sink?.partialFileURL
        func finish(_ result: ValidationResult) {
            guard let events, !validators.isEmpty else { return }
            events.validated(response, of: attempt.request, data: nil, fileURL: partialFileURL, result)
        }
        for validator in validators {
            do {
                try validator(attempt.request, response, partialFileURL).get()
            } catch {
                let error = RequestError.wrappingValidator(error).about(response, body: nil)
                finish(.failure(error))
                // Resuming would bring the very file that was refused.
                _ = sink?.interrupted(discarding: true)
                (sink, isGone) = (nil, true)
                throw error
            }
        }
        finish(.success(()))
    }

    /// Moves the file into its place; returns `nil` if the server gave less than was asked for.
    mutating func complete() throws(RequestError) -> URL? {
        guard case .file(let url) = try sink?.complete() else { return nil }
        fileURL = url
        return url
    }

    /// The next attempt asks for all of the body.
    mutating func mustStartOver() { startsOver = true }

    // MARK: After an attempt

    /// Decides the next step after a failure.
    mutating func interrupted(by error: RequestError) -> Interruption {
        if startsOver {
            startsOver = false
            // A server that sends another representation each time would be asked indefinitely.
            restarts += 1
            return restarts > Self.restartLimit ? .end : .startOver
        }
        if error.isCancellation { return .end }
        // A resumed download resumes automatically only if its own options include that.
        let resumes = plan.destination.options.contains(.automaticallyResume) && sink?.canResume ?? false
        let delay = resumption.interrupted(
            by: error.kind, fetched: sink?.fetched ?? 0, canResume: resumes, spread: Double.random(in: 0...1))
        return delay.map { .resume(after: $0) } ?? .ask
    }

    /// The data with which the download could be resumed now.
    var resumeData: Data? { sink?.resumeData }

    /// Ends a download that failed; the partial file stays, to be resumed, unless it is to be discarded.
    func ended(_ attempt: CompletedAttempt) -> CompletedAttempt {
        let isDiscarded = attempt.error?.isCancellation == true && plan.discardsPartialFile.withLock { $0 }
        guard let sink else {
            if isGone { return attempt }
            guard isDiscarded, let data = plan.resumeData, let left = try? ResumeData(decoding: data) else {
                return attempt.resumable(with: plan.resumeData)
            }
            PartialFile.left(by: left)?.discard()
            return attempt
        }
        return attempt.resumable(with: sink.interrupted(discarding: isDiscarded))
    }

    /// Removes the file from its destination, before all of it is fetched again.
    func removeFile() {
        if let fileURL { try? FileManager.default.removeItem(at: fileURL) }
    }
}
