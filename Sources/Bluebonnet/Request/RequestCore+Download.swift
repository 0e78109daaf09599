import FoundationEssentials

/// The attempts of a download: each brings the file further, until it is complete or nothing helps.
extension RequestCore {
    /// Downloads the body to its file.
    func downloaded(by download: inout FileDownload?) async -> CompletedAttempt {
        guard var file = download else { return completed(await nextOutcome()) }
        defer { download = file }
        var resumption = AutomaticResumption()
        var restarts = 0
        while true {
            var isToldOf = false
            switch await file.attempt() {
            case .done(let attempt):
                return attempt
            case .sendAgain(let attempt):
                // A server that answers each time with something else does so for ever.
                restarts += 1
                if restarts > Self.restartLimit { return file.ended(attempt) }
                if let error = attempt.error {
                    events?.tell(.willRetry(error, after: nil))
                }
            case .failed(let attempt):
                guard let error = attempt.error, !error.isCancellation else { return file.ended(attempt) }
                guard
                    case .resume(let delay) = resumption.interrupted(
                        by: error.kind, fetched: file.fetched, canResume: file.goesOnByItself,
                        spread: Double.random(in: 0...1))
                else {
                    let told = file.interrupted(attempt)
                    isToldOf = true
                    guard case .stands(let error) = await verdict(on: told.error ?? error, of: told) else { break }
                    return file.ended(attempt.failing(with: error))
                }
                events?.tell(.willRetry(error, after: delay))
                _ = await interruptible { [plan = file.plan] in try? await plan.sleep(delay) }
            }
            if endsBeforeRetry(isToldOf: isToldOf) {
                return file.ended(completed(ExchangeOutcome(response: nil, error: RequestError(.cancelled))))
            }
        }
    }

    /// Whether the request was cancelled, and there is no further attempt; tells of that otherwise.
    private func endsBeforeRetry(isToldOf: Bool) -> Bool {
        let isCancelled = mailbox.withLock { mailbox in
            if mailbox.lifecycle.state == .cancelled { return true }
            if !isToldOf { events?.append(.isRetrying) }
            return false
        }
        events?.start()
        return isCancelled
    }

    /// How often all of the body may be asked for anew, since the rest cannot be had.
    private static let restartLimit = 3
}

/// One download from its first attempt to its last; belongs to the task that drives the request.
struct FileDownload {
    /// What an attempt came to.
    enum Result {
        /// The file is in its place, or the request was refused for good.
        case done(CompletedAttempt)
        /// What was asked for is not to be had; something else may be.
        case sendAgain(CompletedAttempt)
        case failed(CompletedAttempt)
    }

    private let core: RequestCore
    let plan: DownloadPlan
    private var sink: DownloadSink?
    /// Where the file was put.
    private var fileURL: URL?

    /// A download, if that is what the request is.
    init?(for core: RequestCore) {
        guard case .file(let plan) = core.sink else { return nil }
        self.core = core
        self.plan = plan
    }

    /// Removes the file again that was put in its place, before all of it is fetched anew.
    func removeFile() {
        if let fileURL { try? FileManager.default.removeItem(at: fileURL) }
    }

    var fetched: Int64 { sink?.fetched ?? 0 }

    /// Whether the download goes on by itself; one that was resumed does so only if that was asked for again.
    var goesOnByItself: Bool {
        plan.destination.options.contains(.automaticallyResume) && sink?.canResume ?? false
    }

    /// Makes one attempt.
    mutating func attempt() async -> Result {
        await core.startAttempt { request throws(RequestError) in
            if sink == nil {
                sink = try DownloadSink.prepare(plan.destination, for: request, resumeData: plan.resumeData)
            }
            guard let sink else { return }
            for field in sink.fields(for: request) { request.headers.update(field) }
        }
        switch await core.nextAnswer() {
        case .outcome(let outcome): return .failed(core.completed(outcome))
        case .head(let response): return await received(response)
        }
    }

    /// A download that failed as it would be reported: with what it could be resumed with.
    func interrupted(_ attempt: CompletedAttempt) -> CompletedAttempt {
        attempt.resumable(with: sink?.resumeData)
    }

    /// Ends a download that failed: what was fetched stays, to be resumed with, unless nobody wants it.
    func ended(_ attempt: CompletedAttempt) -> CompletedAttempt {
        guard let sink else { return attempt }
        let isDiscarded = attempt.error?.isCancellation == true && plan.discardsPartialFile.withLock { $0 }
        return attempt.resumable(with: sink.interrupted(discarding: isDiscarded))
    }

    private mutating func received(_ response: HTTPResponse) async -> Result {
        guard let sink else { return .failed(core.completed(await core.nextOutcome())) }
        let action = sink.headReceived(response)
        switch action {
        case .write, .refuse:
            core.tell(response)
            if let error = core.refusal(of: response) { return .failed(await core.refused(response, error)) }
            if case .refuse(let error) = action { return .failed(await core.refused(response, error)) }
            guard await core.isAllowed(response) else {
                core.cancel()
                return .failed(core.completed(await core.nextOutcome()))
            }
            return await write(response, to: sink)
        case .complete:
            let outcome = await abandonedExchange(response)
            return complete(sink, core.completed(outcome), response)
        case .sendAgain:
            return .sendAgain(core.completed(await abandonedExchange(response)).failing(with: .unresumable(response)))
        }
    }

    /// Ends an exchange whose body is of no use.
    private func abandonedExchange(_ response: HTTPResponse) async -> ExchangeOutcome {
        core.mailbox.withLock { $0.exchange }?.cancel()
        let outcome = await core.nextOutcome()
        return ExchangeOutcome(response: outcome.response ?? response, metrics: outcome.metrics)
    }

    private mutating func write(_ response: HTTPResponse, to sink: DownloadSink) async -> Result {
        let configuration = core.context.configuration
        let body = BodyFanOut(
            highWatermark: configuration.bodyHighWatermark, lowWatermark: configuration.bodyLowWatermark)
        let reader = body.join(cancelsRequest: false)
        let (position, total, now) = (sink.positionOfBody, sink.total, MonotonicClock.now())
        core.mailbox.withLock { mailbox in
            // Before the exchange is looked at: whoever ends that ends this.
            mailbox.fileBody = body
            mailbox.bytesBefore = (position, total)
            mailbox.downloadMeter = ProgressMeter(completed: position, now: now)
        }
        if let exchange = core.accept(response) {
            body.onDemand { exchange.receiveMore() }
            exchange.receiveBody(with: body)
        } else {
            // There was no body, and the exchange has ended.
            body.finish()
        }
        var failure: RequestError?
        do throws(RequestError) {
            while let piece = try await body.read(reader) { try sink.write(piece) }
        } catch {
            failure = error
            core.mailbox.withLock { $0.exchange }?.cancel()
        }
        _ = core.mailbox.withLock { $0.fileBody.take() }
        let attempt = core.completed(await core.nextOutcome())
        // What the file system says goes before the cancellation that it led to.
        if let failure, !failure.isCancellation, attempt.error == nil || attempt.error?.isCancellation == true,
            !core.mailbox.withLock({ $0.lifecycle.state == .cancelled })
        {
            return .failed(attempt.failing(with: failure.during(attempt.request, attempts: attempt.attempts)))
        }
        guard attempt.error == nil else { return .failed(attempt) }
        return complete(sink, attempt, response)
    }

    /// Moves the file into its place.
    private mutating func complete(_ sink: DownloadSink, _ attempt: CompletedAttempt, _ response: HTTPResponse)
        -> Result
    {
        guard attempt.error == nil else { return .failed(attempt) }
        do throws(RequestError) {
            for validator in plan.validators.withLock({ $0 }) {
                do {
                    try validator(attempt.request, response, sink.partialFileURL).get()
                } catch {
                    let error = RequestError.wrappingValidator(error).about(response, body: nil)
                    tellValidated(attempt, response, sink, .failure(error))
                    // Resuming would bring the very file that was refused.
                    _ = sink.interrupted(discarding: true)
                    throw error
                }
            }
            tellValidated(attempt, response, sink, .success(()))
            switch try sink.complete() {
            case .file(let url):
                fileURL = url
                core.downloadDidComplete(sink.completed)
                core.events?.downloaded(attempt, .success(url))
                return .done(attempt.saved(at: url))
            case .sendAgain: return .sendAgain(attempt.failing(with: .unresumable(response)))
            }
        } catch {
            let error = error.during(attempt.request, attempts: attempt.attempts)
            core.events?.downloaded(attempt, .failure(error))
            return .failed(attempt.failing(with: error))
        }
    }

    /// Tells the monitors what the validators made of the complete file, if there are some.
    private func tellValidated(
        _ attempt: CompletedAttempt, _ response: HTTPResponse, _ sink: DownloadSink, _ result: ValidationResult
    ) {
        guard let events = core.events, plan.validators.withLock({ !$0.isEmpty }) else { return }
        events.validated(response, of: attempt.request, data: nil, fileURL: sink.partialFileURL, result)
    }
}

extension RequestError {
    /// The rest of a download was not to be had, again and again.
    fileprivate static func unresumable(_ response: HTTPResponse) -> RequestError {
        RequestError(.download(.cannotResume(statusCode: response.statusCode)))
    }
}
