public import FoundationEssentials

/// A request that writes the response body to a file.
///
/// A ``Session`` creates it. Chained calls configure it. Each `serializing…` method makes a ``DownloadTask`` whose
/// value you await. By default, that method also starts the request:
///
/// ```swift
/// let file = try await session.download(url, to: .file(destination)).validate().serializingURL().value
/// ```
///
/// Validators check the head before anything is written. The body is written to a partial file next to the destination.
/// When the body is complete and the response was accepted, the file is moved into place.
///
/// A download that fails or is cancelled keeps its partial file if the download can be resumed.
/// ``Session/download(resumingWith:headers:interceptor:to:)`` then continues from its ``resumeData``. The size of the
/// body is not limited.
///
/// Its members are `nonisolated`: you can use them from any thread, and they return at once. The task that runs the
/// request writes the file, on the global pool or on the executor that the awaiting task prefers.
public actor DownloadRequest: Request {
    /// An opaque reference to the state that all kinds of request share.
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

    /// The URL of the file, or `nil` until the file is complete and in place.
    public nonisolated var fileURL: URL? { core.machine.withLock { $0.record.last }?.fileURL }

    /// The data to resume the download with, or `nil` unless the download has failed or was cancelled and can be
    /// resumed.
    ///
    /// The data refers to the partial file, so it only works on this machine while that file exists. It contains the
    /// URL and the header fields of the request, without the fields that carry secrets.
    public nonisolated var resumeData: Data? { core.machine.withLock { $0.record.last }?.resumeData }

    /// Cancels the request, and keeps or removes its partial file.
    ///
    /// ``Request/cancel()`` keeps the file. All awaiting tasks receive `.cancelled`. By then, ``resumeData`` and the
    /// error contain the resume data, if there is any.
    ///
    /// - Parameter producingResumeData: Whether to keep the partial file and create resume data.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func cancel(producingResumeData: Bool) -> Self {
        plan.discardsPartialFile.withLock { $0 = !producingResumeData }
        return cancel()
    }

    /// Adds your own check of the downloaded file, which runs before the file is moved to its destination.
    ///
    /// The checks run when the body is complete, in the order in which they were added, until one refuses the file.
    /// They run on the global pool, or on the executor that the awaiting task prefers. If a check throws or returns an
    /// error of any type, the request fails with `.validation(.customValidationFailed)`, and your error becomes the
    /// underlying error. A refused file is removed, so the download cannot be resumed.
    ///
    /// - Parameter validation: A closure that receives the request, the response and the current URL of the file, and
    ///   accepts or refuses the file.
    /// - Returns: This request, for chaining.
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
