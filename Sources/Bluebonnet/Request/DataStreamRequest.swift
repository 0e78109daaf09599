/// A request whose response is read while it comes in.
///
/// Vended by ``Session``. Chained calls set it up; ``streamTask(automaticallyCancelling:)`` makes a ``DataStreamTask``,
/// whose sequences hand the body out:
///
/// ```swift
/// let task = session.streamRequest(url).validate().streamTask()
/// for try await line in task.lines { print(line) }
/// ```
///
/// Validators run on the head, before any of the body is handed out. Any number may read; each sees everything from when
/// it asked for its sequence, and the slowest one sets the pace: when ``Session/Configuration/bodyHighWatermark`` bytes or
/// more wait for it, nothing is read from the network. How large the body is as a whole is not limited.
///
/// Its members are `nonisolated`: they return at once, from anywhere. Validators run on the global pool.
public actor DataStreamRequest: Request {
    /// Leads Bluebonnet to what all kinds of request share.
    public nonisolated let reference: RequestReference

    /// Whether the request is cancelled when one of its `streaming…` sequences has an error in the place of a value.
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

    /// Accepts a response by a check of your own, before any of its body is handed out.
    ///
    /// Runs on the global pool, after the validators that were added before and only if those accepted. A failure becomes
    /// a `.validation(.customValidationFailed)` error, whose `underlying` is the error that you threw, of any type.
    ///
    /// - Parameter validation: Gets the request and the head of the response.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func validate(
        _ validation:
            @escaping @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse) throws -> ValidationResult
    ) -> Self {
        validate(by: .custom { request, response, _ in try validation(request, response) })
    }

    /// Makes a task by which the response is read.
    ///
    /// Nothing is started before the task is asked for the response or one of its sequences.
    ///
    /// - Parameter automaticallyCancelling: Whether the request is cancelled when its last reader stops: the last loop
    ///   over a sequence of the task was left, or the awaiting task was cancelled. The default is `true`; otherwise the
    ///   rest of the body is received and dropped.
    /// - Returns: The task.
    public nonisolated func streamTask(automaticallyCancelling: Bool = true) -> DataStreamTask {
        DataStreamTask(request: self, automaticallyCancelling: automaticallyCancelling)
    }
}
