/// A request that delivers the response body while it arrives.
///
/// A ``Session`` creates stream requests. You configure a request with chained calls.
/// ``streamTask(automaticallyCancelling:)`` returns a ``DataStreamTask``, whose sequences contain the body:
///
/// ```swift
/// let task = session.streamRequest(url).validate().streamTask()
/// for try await line in task.lines { print(line) }
/// ```
///
/// Validators check the head of the response before the body is delivered. The size of the body is not limited.
///
/// A loop over a sequence is a reader of the body. There can be several readers, and each reader receives the whole
/// body. The transfer pauses when ``Session/Configuration/bodyHighWatermark`` bytes wait for the slowest reader.
///
/// All members are `nonisolated`, so you can use them from any thread. They return immediately. Validators run on the
/// global executor.
public actor DataStreamRequest: Request {
    /// An opaque reference to the internal state of this request.
    public nonisolated let reference: RequestReference

    /// Whether the request is cancelled when a `streaming…` sequence of its ``DataStreamTask`` yields an error
    /// instead of a value.
    public nonisolated let automaticallyCancelOnStreamError: Bool

    nonisolated let body: BodyFanOut

    init(
        convertible: any HTTPRequestConvertible, context: SessionContext, automaticallyCancelOnStreamError: Bool,
        interceptor: (any RequestInterceptor)?
    ) {
        let body = BodyFanOut(
            highWatermark: context.configuration.bodyHighWatermark,
            lowWatermark: context.configuration.bodyLowWatermark)
        let core = RequestCore(
            convertible: convertible, context: context, sink: StreamSink(body: body), interceptor: interceptor)
        body.onAbandonment { [weak core] in core?.cancel() }
        self.body = body
        reference = RequestReference(core: core)
        self.automaticallyCancelOnStreamError = automaticallyCancelOnStreamError
        core.events?.adopt(self)
    }

    /// Adds a closure that validates the head of the response before the body is delivered.
    ///
    /// The closure runs for each response that all earlier validators have accepted, including the responses to
    /// retries. It runs on the global executor. If the closure throws or returns an error, the request fails with a
    /// ``RequestError`` of the kind `.validation(.customValidationFailed)`. The underlying error is the error of the
    /// closure.
    ///
    /// - Parameter validation: A closure that receives the request and the head of the response, and returns whether
    ///   the response is valid.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func validate(
        _ validation:
            @escaping @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse) throws -> ValidationResult
    ) -> Self {
        validate(by: .custom { request, response, _ in try validation(request, response) })
    }

    /// Returns a task that reads the response.
    ///
    /// This method does not start the request. The request starts when you await the task's
    /// ``DataStreamTask/response``, or when a loop over a sequence of the task begins.
    ///
    /// - Parameter automaticallyCancelling: Whether the request is cancelled when the last remaining loop that reads
    ///   the body ends early. A loop also ends early when its Swift task is cancelled. The default is `true`. With
    ///   `false`, the request continues, and the rest of the body is received and discarded.
    /// - Returns: A task whose sequences contain the body.
    public nonisolated func streamTask(automaticallyCancelling: Bool = true) -> DataStreamTask {
        DataStreamTask(request: self, automaticallyCancelling: automaticallyCancelling)
    }
}
