public import FoundationEssentials

/// A request whose response is written to a file.
///
/// Vended by ``Session``. Chained calls set it up; a `serializing…` method makes a ``DownloadTask`` to be awaited and, by
/// default, starts the request:
///
/// ```swift
/// let file = try await session.download(url, to: .file(destination)).validate().serializingURL().value
/// ```
///
/// The body goes to a partial file beside the destination, and is moved into place when it is complete and the
/// validators have accepted the response. Validators run on the head, before anything is written. A download that
/// failed or was cancelled leaves its partial file if that can be resumed;
/// ``Session/download(resumingWith:headers:interceptor:to:)`` continues from its ``resumeData``. The size of the body
/// is not limited.
///
/// Its members are `nonisolated`: they return at once, from anywhere. Files are written by the request's task on the global
/// pool.
public actor DownloadRequest: Request {
    /// Leads Bluebonnet to what all kinds of request share.
    public nonisolated let reference: RequestReference

    private nonisolated let plan: DownloadPlan

    init(
        convertible: any HTTPRequestConvertible, context: SessionContext, interceptor: (any RequestInterceptor)? = nil,
        destination: Destination,
        resumeData: Data? = nil,
        sleep: @escaping DownloadPlan.Sleep = { try await ContinuousClock().sleep(for: $0) }
    ) {
        plan = DownloadPlan(destination: destination, resumeData: resumeData, sleep: sleep)
        reference = RequestReference(
            core: RequestCore(convertible: convertible, context: context, sink: .file(plan), interceptor: interceptor))
        core.events?.adopt(self)
    }

    /// Where the file is, once it is complete and in its place.
    public nonisolated var fileURL: URL? { core.machine.withLock { $0.record.last }?.fileURL }

    /// The data to resume the download with, once it has failed or was cancelled, if it can be resumed.
    ///
    /// Names the partial file; so it is of use on this machine, for as long as that file is there. Holds the URL and the
    /// fields of the request, without those that carry secrets.
    public nonisolated var resumeData: Data? { core.machine.withLock { $0.record.last }?.resumeData }

    /// Ends the request and says whether its partial file is kept.
    ///
    /// ``Request/cancel()`` keeps it. All awaiting tasks receive `.cancelled`; by then, the resume data is in
    /// ``resumeData`` and in the error.
    ///
    /// - Parameter producingResumeData: Whether the partial file is kept, and the data to resume with is made.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func cancel(producingResumeData: Bool) -> Self {
        plan.discardsPartialFile.withLock { $0 = !producingResumeData }
        return cancel()
    }

    /// Accepts a downloaded file by a check of your own, before it is moved to its destination.
    ///
    /// Runs on the global pool, after the validators of the head, when the body is complete; several in the order in which
    /// they were added, up to the first that refuses. A failure becomes a `.validation(.customValidationFailed)` error with
    /// yours, of whatever type, as the underlying one. The file that was refused is removed: there is nothing to resume.
    ///
    /// - Parameter validation: Gets the request, the response and where the file is until then.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func validate(
        _ validation:
            @escaping @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse, _ fileURL: URL?) throws ->
            ValidationResult
    ) -> Self {
        plan.validators.withLock { $0.append(validation) }
        return self
    }
}
