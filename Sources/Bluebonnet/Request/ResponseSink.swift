import FoundationEssentials

/// The destination of the response bodies of one kind of request: memory, a stream, a file or a socket.
///
/// A new kind of destination is a type that conforms to this protocol, with a ``SinkWriter``. All members may be used
/// on any thread. The defaults are those of a sink that receives the body in pieces and needs nothing else.
protocol ResponseSink: Sendable {
    /// Whether the head is checked before any of the body is received.
    var pausesBody: Bool { get }
    /// Whether the writer prepares each attempt, for example because it opens a file.
    ///
    /// This must not happen on the thread that starts the request. A cancelled request is prepared, too, because the
    /// writer may return data for continuing it.
    var needsPreparation: Bool { get }
    /// The settings of an exchange whose connection changes to another protocol.
    var upgrade: ExchangeOptions.Upgrade? { get }
    /// Returns the part of the sink that belongs to the driver of the request.
    func makeWriter() -> any SinkWriter
    /// Called on the event loop with the number of bytes that were sent so far.
    func bytesWereSent(_ count: Int64)
    /// The session is being shut down.
    func sessionShutsDown()
    /// Ends the body after the request has ended.
    func finish(with error: RequestError?)
}

extension ResponseSink {
    var pausesBody: Bool { true }
    var needsPreparation: Bool { false }
    var upgrade: ExchangeOptions.Upgrade? { nil }
    func bytesWereSent(_ count: Int64) {}
    func sessionShutsDown() {}
    func finish(with error: RequestError?) {}
}

extension ResponseSink where Self: SinkWriter {
    func makeWriter() -> any SinkWriter { self }
}

/// The stages of the ``AttemptLoop`` that depend on the destination of the body.
///
/// A writer belongs to the driver, and has the state of all attempts of a request. This is the order of calls:
///
///     prepare                  before each attempt, if the sink needs preparation
///     ├─ headReceived          for each head that is not a followed redirect, before the validators
///     │  ├─ .receive           receive: receives the body of an accepted head, until the exchange has ended
///     │  ├─ .skip              the exchange ends without its body
///     │  └─ .refuse            the attempt fails, unless a validator has failed before
///     ├─ completed             after `receive` or `.skip`, also if the exchange has failed
///     ├─ interrupted           after a failed attempt: decides whether another attempt follows
///     │  └─ resumable          before the retriers are called
///     ├─ ended                 if no other attempt follows, before the serializers run
///     └─ discardBody           if a serializer has failed and another attempt follows after all
protocol SinkWriter {
    /// The part of a response that the validators check.
    var validated: ValidatedPart { get }
    /// Adds header fields to the request of an attempt.
    mutating func prepare(_ request: inout HTTPRequest) throws(RequestError)
    /// Returns the next step after a head.
    mutating func headReceived(_ response: HTTPResponse, to request: HTTPRequest?) -> HeadDecision
    /// Receives the body of an accepted head, and waits for the end of the exchange.
    mutating func receive(_ response: HTTPResponse, of core: RequestCore) async -> ExchangeOutcome
    /// Ends an attempt that has received its body, or needs none.
    mutating func completed(_ attempt: CompletedAttempt, of core: RequestCore) -> CompletedAttempt
    /// Returns the next step after the failure of an attempt.
    mutating func interrupted(by error: RequestError, of core: RequestCore) -> FailureDecision
    /// Returns the attempt with what the retriers can use to continue it.
    func resumable(_ attempt: CompletedAttempt) -> CompletedAttempt
    /// Ends the last attempt.
    func ended(_ attempt: CompletedAttempt) -> CompletedAttempt
    /// Discards a complete body, because it is requested again.
    mutating func discardBody()
}

/// The part of a response that the validators of a request check.
enum ValidatedPart {
    case nothing
    /// The head, before the body is received.
    case head
    /// The head and the body.
    case wholeResponse
}

/// The next step after the head of a response.
enum HeadDecision: Sendable {
    case receive
    case skip
    case refuse(RequestError)
}

/// The next step after the failure of an attempt.
enum FailureDecision {
    /// Another attempt continues this one after a delay, for which the closure waits.
    case again(after: Duration?, sleep: SessionContext.Sleep? = nil)
    /// The retriers decide.
    case ask
    case end
}

extension SinkWriter {
    var validated: ValidatedPart { .head }
    func prepare(_ request: inout HTTPRequest) throws(RequestError) {}
    func headReceived(_ response: HTTPResponse, to request: HTTPRequest?) -> HeadDecision { .receive }
    func completed(_ attempt: CompletedAttempt, of core: RequestCore) -> CompletedAttempt { attempt }
    // A reader may have received a part of the body, which another attempt would deliver again.
    func interrupted(by error: RequestError, of core: RequestCore) -> FailureDecision {
        core.read { $0.record.response } == nil ? .ask : .end
    }
    func resumable(_ attempt: CompletedAttempt) -> CompletedAttempt { attempt }
    func ended(_ attempt: CompletedAttempt) -> CompletedAttempt { attempt }
    func discardBody() {}
}

/// Collects the body in memory for serializers.
struct MemorySink: ResponseSink, SinkWriter {
    var pausesBody: Bool { false }
    var validated: ValidatedPart { .wholeResponse }

    func receive(_ response: HTTPResponse, of core: RequestCore) async -> ExchangeOutcome {
        core.accept(response)?.receiveBody(with: nil)
        return await core.nextOutcome()
    }

    func interrupted(by error: RequestError, of core: RequestCore) -> FailureDecision { .ask }
}
