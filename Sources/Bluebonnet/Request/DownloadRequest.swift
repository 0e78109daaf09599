public import FoundationEssentials

/// A request that writes the response body to a file.
///
/// A ``Session`` creates download requests. You configure a request with chained calls. Each `serializing…` method
/// returns a ``DownloadTask``, whose value you await. By default, the method also starts the request:
///
/// ```swift
/// let file = try await session.download(url, to: .file(destination)).validate().serializingURL().value
/// ```
///
/// Validators check the head of the response before the body is received. The body is written to a partial file. For
/// the location of this file, see ``DownloadRequest/Destination``. When the body is complete and valid, the partial
/// file is moved to the destination. The size of the file is not limited.
///
/// The partial file of a failed or cancelled download is kept if the download can be resumed. To resume the download,
/// pass its ``resumeData`` to ``Session/download(resumingWith:headers:interceptor:to:)``.
///
/// All members are `nonisolated`, so you can use them from any thread. They return immediately. The file is written on
/// the global executor, or on the executor that the awaiting task prefers.
public actor DownloadRequest: Request {
    /// An opaque reference to the internal state of this request.
    public nonisolated let reference: RequestReference

    private nonisolated let plan: DownloadPlan

    init(
        convertible: any HTTPRequestConvertible, context: SessionContext, interceptor: (any RequestInterceptor)? = nil,
        destination: Destination,
        resumeData: Data? = nil,
        sleep: @escaping SessionContext.Sleep = { try await ContinuousClock().sleep(for: $0) }
    ) {
        plan = DownloadPlan(destination: destination, resumeData: resumeData, sleep: sleep)
        reference = RequestReference(
            core: RequestCore(convertible: convertible, context: context, sink: plan, interceptor: interceptor))
        core.events?.adopt(self)
    }

    /// The URL of the downloaded file, or `nil` if the download is not complete.
    public nonisolated var fileURL: URL? { core.read { $0.record.last }?.fileURL }

    /// The data for resuming a failed or cancelled download, or `nil` if the download cannot be resumed.
    ///
    /// The data refers to the partial file, so you can use the data only on the same machine and only while the partial
    /// file exists. The data contains the URL and the header fields of the request, without fields that contain
    /// secrets.
    public nonisolated var resumeData: Data? { core.read { $0.record.last }?.resumeData }

    /// Cancels the request, and keeps or removes its partial file.
    ///
    /// With `true`, this method has the same effect as ``Request/cancel()``. If the download can be resumed, the
    /// partial file is kept, and the error and ``resumeData`` contain the data for resuming. With `false`, the partial
    /// file is removed.
    ///
    /// All tasks that await the request receive the error `.cancelled`.
    ///
    /// - Parameter producingResumeData: Whether the partial file is kept and resume data is created.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func cancel(producingResumeData: Bool) -> Self {
        plan.discardsPartialFile.withLock { $0 = !producingResumeData }
        return cancel()
    }

    /// Adds a closure that validates the downloaded file before it is moved to its destination.
    ///
    /// When the body is complete, the closures run in the order in which they were added, until a closure refuses the
    /// file. They run on the global executor, or on the executor that the awaiting task prefers.
    ///
    /// If a closure throws or returns an error, the file is refused, and the request fails with a ``RequestError`` of
    /// the kind `.validation(.customValidationFailed)`. The underlying error is the error of the closure. The refused
    /// file is removed, so the download cannot be resumed.
    ///
    /// - Parameter validation: A closure that receives the request, the response and the URL of the partial file, and
    ///   returns whether the file is valid.
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

    /// Checks the checksum of the file before it is moved to its destination.
    ///
    /// The checksum is computed while the body is written. If the request continues the partial file of an earlier
    /// request, Bluebonnet reads the whole file and computes the checksum when the body is complete.
    ///
    /// If the file has a different checksum, the request fails with `.download(.checksumMismatch)`. The file is
    /// removed, so the download cannot be resumed. Call this method before the request starts. A second call replaces
    /// the checksum.
    ///
    /// - Parameter checksum: The expected checksum.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func validate(checksum: DownloadChecksum) -> Self {
        plan.checksum.withLock { $0 = checksum }
        return self
    }
}
