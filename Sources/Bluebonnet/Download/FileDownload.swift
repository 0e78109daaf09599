import FoundationEssentials

/// A download with all of its attempts, which writes the body to a file.
struct FileDownload: SinkWriter {
    private let plan: DownloadPlan
    private var sink: DownloadSink?
    /// The URL of the complete file.
    private var fileURL: URL?
    private var resumption = AutomaticResumption()
    /// Whether the next attempt has to request the whole body, because the requested range is not available.
    private var startsOver = false
    /// The error that ended the writing of the current body.
    private var failure: RequestError?
    /// Whether the partial file no longer exists, because validation refused it or another process moved it.
    ///
    /// The download can then not be resumed.
    private var isGone = false
    /// The number of times that the whole body was requested again.
    private var restarts = 0

    /// The maximum number of times that the whole body is requested again because the rest is not available.
    private static let restartLimit = 3

    init(_ plan: DownloadPlan) { self.plan = plan }

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

    mutating func headReceived(_ response: HTTPResponse, to request: HTTPRequest?) -> HeadAction {
        switch sink?.headReceived(response) {
        case .write, nil: return .receive
        case .complete: return .skip
        case .refuse(let error): return .refuse(error)
        case .sendAgain:
            startsOver = true
            return .skip
        }
    }

    /// Writes the body to the file.
    mutating func receive(_ response: HTTPResponse, of core: RequestCore) async -> ExchangeOutcome {
        let configuration = core.context.configuration
        let body = BodyFanOut(
            highWatermark: configuration.bodyHighWatermark, lowWatermark: configuration.bodyLowWatermark)
        let reader = body.join(cancelsRequest: false)
        core.bodyResumes(at: sink?.positionOfBody ?? 0, of: sink?.total)
        let exchange = core.accept(response, fileBody: body)
        body.receive(from: exchange)
        // Without an exchange, it has already ended without a body.
        if exchange == nil { body.finish() }
        do throws(RequestError) {
            while let piece = try await body.read(reader) {
                try sink?.write(piece)
                FilePlaces.shared.progressed()
            }
        } catch {
            failure = error
            core.cancelExchange()
        }
        return await core.nextOutcome()
    }

    /// Validates the complete file, and moves it to its destination.
    mutating func completed(_ attempt: CompletedAttempt, of core: RequestCore) -> CompletedAttempt {
        // An error of the file system takes precedence over the cancellation that it caused.
        if let failure = failure.take(), !failure.isCancellation,
            attempt.error == nil || attempt.error?.isCancellation == true, !core.isCancelled
        {
            return attempt.failing(with: failure.during(attempt.request, attempts: attempt.attempts))
        }
        guard !startsOver, attempt.error == nil, let response = attempt.response else { return asking(attempt) }
        do throws(RequestError) {
            try validate(attempt, response, core.events)
            guard case .file(let url) = try sink?.complete() else {
                startsOver = true
                return asking(attempt)
            }
            fileURL = url
            core.fileCompleted(sink?.completed ?? 0)
            core.events?.downloaded(attempt, .success(url))
            return attempt.saved(at: url)
        } catch {
            let error = error.during(attempt.request, attempts: attempt.attempts)
            core.events?.downloaded(attempt, .failure(error))
            return attempt.failing(with: error)
        }
    }

    /// Returns the attempt with an error if the whole body has to be requested again.
    private func asking(_ attempt: CompletedAttempt) -> CompletedAttempt {
        guard startsOver, let statusCode = attempt.response?.statusCode else { return attempt }
        return attempt.failing(with: RequestError(.download(.cannotResume(statusCode: statusCode))))
    }

    /// Runs the validators on the complete file, and removes a refused file.
    private mutating func validate(
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

    // MARK: After an attempt

    mutating func interrupted(by error: RequestError, of core: RequestCore) -> Interruption {
        if startsOver {
            startsOver = false
            // The limit prevents an endless loop with a server that sends another representation each time.
            restarts += 1
            return restarts > Self.restartLimit ? .end : .again(after: nil)
        }
        if error.isCancellation { return .end }
        // A download that was started from resume data resumes automatically only if its own options include this.
        let resumes = plan.destination.options.contains(.automaticallyResume) && sink?.canResume ?? false
        let delay = resumption.interrupted(
            by: error.kind, gained: sink?.takeGain() ?? 0, canResume: resumes, spread: Double.random(in: 0...1))
        return delay.map { .again(after: $0, sleep: plan.sleep) } ?? .ask
    }

    func resumable(_ attempt: CompletedAttempt) -> CompletedAttempt { attempt.resumable(with: sink?.resumeData) }

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

    /// Deletes the file at the destination.
    mutating func startOver() {
        if let fileURL { try? FileManager.default.removeItem(at: fileURL) }
        self = FileDownload(plan)
    }
}
