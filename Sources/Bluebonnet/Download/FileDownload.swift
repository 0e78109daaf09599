import FoundationEssentials

/// A download with all of its attempts, which writes the body to a file.
struct FileDownload: SinkWriter {
    private let plan: DownloadPlan
    private var file: DownloadFile?
    /// The URL of the complete file.
    private var fileURL: URL?
    private var resumption = AutomaticResumption()
    /// Whether the next attempt has to request the whole body, because the requested range is not available.
    private var startsOver = false
    /// The accepted head of the current attempt.
    private var head: HTTPResponse?
    /// The error that ended the writing of the current body.
    private var failure: RequestError?
    /// Whether the partial file no longer exists, because validation refused it or another process moved it.
    ///
    /// The download can then not be resumed.
    private var isGone = false
    /// The number of times in a row that a body was requested again without progress.
    private var restarts = 0

    /// The maximum number of times in a row that a body is requested again without progress.
    private static let restartLimit = 3

    init(_ plan: DownloadPlan) { self.plan = plan }

    // MARK: An attempt

    /// Adds the fields that request the rest of the file.
    ///
    /// The file is opened before the first attempt. A new file is opened if validation refused the old file or another
    /// process moved it, because the old file cannot be moved to the destination.
    mutating func prepare(_ request: inout HTTPRequest) throws(RequestError) {
        if file?.isInPlace == false { (file, isGone) = (nil, true) }
        if file == nil {
            let checksum = plan.checksum.withLock { $0 }
            try checksum?.validate()
            file = try DownloadFile.prepare(plan.destination, for: request, resumeData: plan.resumeData)
            file?.checksum = checksum
        }
        for field in file?.fields(for: request) ?? [:] { request.headers.update(field) }
        request.keepsUnacceptedCodings = true
    }

    mutating func headReceived(_ response: HTTPResponse, to request: HTTPRequest?) -> HeadDecision {
        head = response
        switch file?.headReceived(response) {
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
        core.bodyResumes(at: file?.positionOfBody ?? 0, of: file?.total)
        let exchange = core.accept(response, fileBody: body)
        body.receive(from: exchange)
        // Without an exchange, it has already ended without a body.
        if exchange == nil { body.finish() }
        do throws(RequestError) {
            while let piece = try await body.read(reader) {
                try file?.write(piece)
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
        guard !startsOver, attempt.error == nil else { return failingIfIncomplete(attempt) }
        do throws(RequestError) {
            try validate(attempt, core.events)
            // The validators may have taken long.
            guard !core.isCancelled else { return attempt.cancelled() }
            guard case .file(let url) = try file?.complete() else {
                startsOver = true
                return failingIfIncomplete(attempt)
            }
            fileURL = url
            core.fileCompleted(file?.completed ?? 0)
            core.events?.downloaded(attempt, .success(url))
            return attempt.saved(at: url)
        } catch {
            let error = error.during(attempt.request, attempts: attempt.attempts)
            core.events?.downloaded(attempt, .failure(error))
            return attempt.failing(with: error)
        }
    }

    /// Returns the attempt, with an error if the whole body has to be requested again.
    private func failingIfIncomplete(_ attempt: CompletedAttempt) -> CompletedAttempt {
        guard startsOver, let statusCode = head?.statusCode else { return attempt }
        let error = RequestError(.download(.cannotResume(statusCode: statusCode)))
        return attempt.failing(with: error.during(attempt.request, attempts: attempt.attempts))
    }

    /// Runs the validators on the complete file, and removes a refused file.
    private mutating func validate(_ attempt: CompletedAttempt, _ events: RequestEvents?) throws(RequestError) {
        // The response of the attempt has the trailers.
        guard let response = attempt.response ?? head else { return }
        let validators = plan.validators.withLock { $0 }
        let partialFileURL = file?.partialFileURL
        func finish(_ result: ValidationResult) {
            guard let events, !validators.isEmpty else { return }
            events.emit(.didValidateRequest(attempt.request, response, data: nil, fileURL: partialFileURL, result))
        }
        for validator in validators {
            do {
                try validator(attempt.request, response, partialFileURL).get()
            } catch {
                let error = RequestError.wrappingValidator(error).about(response, body: nil)
                finish(.failure(error))
                // Resuming would result in the same file again.
                _ = file?.interrupted(discarding: true)
                (file, isGone) = (nil, true)
                throw error
            }
        }
        finish(.success(()))
    }

    // MARK: After an attempt

    mutating func interrupted(by error: RequestError, of core: RequestCore) -> FailureDecision {
        if startsOver {
            startsOver = false
            // The limit prevents an endless loop with a server that sends another representation each time. A server
            // may send a large file in many parts.
            restarts = file?.takeGain() ?? 0 >= AutomaticResumption.minimumProgress ? 0 : restarts + 1
            return restarts > Self.restartLimit ? .end : .again(after: nil)
        }
        if error.isCancellation { return .end }
        // A download that was started from resume data resumes automatically only if its own options include this.
        let resumes = plan.destination.options.contains(.automaticallyResume) && file?.canResume ?? false
        let delay = resumption.interrupted(
            by: error.kind, gained: file?.takeGain() ?? 0, canResume: resumes, spread: Double.random(in: 0...1))
        return delay.map { .again(after: $0, sleep: plan.sleep) } ?? .ask
    }

    func resumable(_ attempt: CompletedAttempt) -> CompletedAttempt { attempt.resumable(with: file?.resumeData) }

    /// Ends a failed download, and keeps the partial file for resuming unless it should be discarded.
    func ended(_ attempt: CompletedAttempt) -> CompletedAttempt {
        let isDiscarded = attempt.error?.isCancellation == true && plan.discardsPartialFile.withLock { $0 }
        guard let file else {
            if isGone { return attempt }
            guard isDiscarded, let data = plan.resumeData, let left = try? ResumeData(decoding: data) else {
                return attempt.resumable(with: plan.resumeData)
            }
            PartialFile.left(by: left)?.discard()
            return attempt
        }
        return attempt.resumable(with: file.interrupted(discarding: isDiscarded))
    }

    /// Deletes the file at the destination.
    mutating func discardBody() {
        if let fileURL { try? FileManager.default.removeItem(at: fileURL) }
        self = FileDownload(plan)
    }
}
