/// A request that delivers the response body while it arrives.
///
/// A ``Session`` creates it. Chained calls configure it. ``streamTask(automaticallyCancelling:)`` makes a
/// ``DataStreamTask``, whose sequences deliver the body:
///
/// ```swift
/// let task = session.streamRequest(url).validate().streamTask()
/// for try await line in task.lines { print(line) }
/// ```
///
/// Validators check the head before any of the body is delivered. A body can have several readers. Each reader receives
/// the whole body, and the slowest reader sets the pace. While ``Session/Configuration/bodyHighWatermark`` bytes or
/// more wait for it, nothing is read from the network. The total size of the body is not limited.
///
/// Its members are `nonisolated`: you can use them from any thread, and they return at once. Validators run on the
/// global pool.
public actor DataStreamRequest: Request {
    /// An opaque reference to the state that all kinds of request share.
    public nonisolated let reference: RequestReference

    /// Whether the request is cancelled when one of its `streaming…` sequences yields an error instead of a value.
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
            convertible: convertible, context: context, sink: .stream(body), interceptor: interceptor)
        body.onAbandonment { [weak core] in core?.cancel() }
        self.body = body
        reference = RequestReference(core: core)
        self.automaticallyCancelOnStreamError = automaticallyCancelOnStreamError
        core.events?.adopt(self)
    }

    /// Adds your own check of the response, which runs before any of the body is delivered.
    ///
    /// The check runs on the global pool, once for each attempt that received a response, if all earlier validators
    /// accepted it. If it throws or returns an error of any type, the request fails with
    /// `.validation(.customValidationFailed)`, and your error becomes the underlying error.
    ///
    /// - Parameter validation: A closure that receives the request and the head of the response, and accepts or refuses
    ///   the response.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func validate(
        _ validation:
            @escaping @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse) throws -> ValidationResult
    ) -> Self {
        validate(by: .custom { request, response, _ in try validation(request, response) })
    }

    /// Makes a task that reads the response.
    ///
    /// This does not start the request. The request starts when you await the task's response or begin to read one of
    /// its sequences.
    ///
    /// - Parameter automaticallyCancelling: Whether the request is cancelled when its last reader stops. A reader stops
    ///   when you leave a loop over one of the task's sequences, or when the task that reads is cancelled. The default
    ///   is `true`. If it is `false`, the rest of the body is received and dropped.
    /// - Returns: A task whose sequences deliver the body.
    public nonisolated func streamTask(automaticallyCancelling: Bool = true) -> DataStreamTask {
        DataStreamTask(request: self, automaticallyCancelling: automaticallyCancelling)
    }
}
