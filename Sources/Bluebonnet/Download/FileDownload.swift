import FoundationEssentials

/// A download with all of its attempts.
///
/// It belongs to the task that runs the request.
struct FileDownload {
    /// The next step after an interruption.
    enum Interruption {
        /// The whole body is requested again, immediately.
        case startOver
        /// The download resumes automatically.
        case resume(after: Duration)
        /// The retriers decide.
        case ask
        case end
    }

    let plan: DownloadPlan
    private var sink: DownloadSink?
    /// The URL of the complete file.
    private var fileURL: URL?
    private var resumption = AutomaticResumption()
    private var startsOver = false
    /// Whether the partial file no longer exists, because validation refused it or another process moved it.
    ///
    /// The download can then not be resumed.
    private var isGone = false
    /// The number of times that the whole body was requested again.
    private var restarts = 0

    /// The maximum number of times that the whole body is requested again because the rest is not available.
    private static let restartLimit = 3

    /// Creates the download of a request, or returns `nil` if the body is not written to a file.
    init?(for sink: ResponseSink) {
        guard case .file(let plan) = sink else { return nil }
        self.plan = plan
    }

    // MARK: An attempt

    /// Adds the fields that request the rest of the file.
    ///
    /// The file is opened before the first attempt. A new file is opened if validation refused the old file or another
    /// process moved it, because the old file cannot be moved to the destination.
    mutating func prepare(_ request: inout HTTPRequest) throws(RequestError) {
        if sink?.isInPlace == false { (sink, isGone) = (nil, true) }
        if sink == nil {
            let checksum = plan.checksum.withLock { $0 }
            try checksum?.validate()
            sink = try DownloadSink.prepare(plan.destination, for: request, resumeData: plan.resumeData)
            sink?.checksum = checksum
        }
        for field in sink?.fields(for: request) ?? [:] { request.headers.update(field) }
        request.keepsUnacceptedCodings = true
    }

    func headReceived(_ response: HTTPResponse) -> DownloadSink.HeadAction { sink?.headReceived(response) ?? .write }

    var positionOfBody: Int64 { sink?.positionOfBody ?? 0 }

    var total: Int64? { sink?.total }

    /// The size of the file in bytes.
    var completed: Int64 { sink?.completed ?? 0 }

    func write(_ piece: Data) throws(RequestError) {
        try sink?.write(piece)
        FilePlaces.shared.progressed()
    }

    /// Runs the validators on the complete file, and removes a refused file.
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
                // Resuming would result in the same file again.
                _ = sink?.interrupted(discarding: true)
                (sink, isGone) = (nil, true)
                throw error
            }
        }
        finish(.success(()))
    }

    /// Moves the file to its destination, or returns `nil` if the server sent less than requested.
    mutating func complete() throws(RequestError) -> URL? {
        guard case .file(let url) = try sink?.complete() else { return nil }
        fileURL = url
        return url
    }

    /// Records that the next attempt has to request the whole body.
    mutating func mustStartOver() { startsOver = true }

    // MARK: After an attempt

    /// Returns the next step after a failure.
    mutating func interrupted(by error: RequestError) -> Interruption {
        if startsOver {
            startsOver = false
            // The limit prevents an endless loop with a server that sends another representation each time.
            restarts += 1
            return restarts > Self.restartLimit ? .end : .startOver
        }
        if error.isCancellation { return .end }
        // A download that was started from resume data resumes automatically only if its own options include this.
        let resumes = plan.destination.options.contains(.automaticallyResume) && sink?.canResume ?? false
        let delay = resumption.interrupted(
            by: error.kind, gained: sink?.takeGain() ?? 0, canResume: resumes, spread: Double.random(in: 0...1))
        return delay.map { .resume(after: $0) } ?? .ask
    }

    /// The data for resuming the download in its current state.
    var resumeData: Data? { sink?.resumeData }

    /// Ends a failed download, and keeps the partial file for resuming unless it should be discarded.
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

    /// Deletes the file at the destination before the whole body is fetched again.
    func removeFile() {
        if let fileURL { try? FileManager.default.removeItem(at: fileURL) }
    }
}
