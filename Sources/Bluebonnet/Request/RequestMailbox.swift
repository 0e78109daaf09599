import FoundationEssentials

/// What a request has been told and what it knows, behind its lock.
struct RequestMailbox {
    var lifecycle = RequestLifecycle()
    var validators = ValidatorList()
    /// The request's own interceptors, asked after the session's, in this order.
    var interceptors: [any RequestInterceptor] = []
    /// Decides about redirects in place of the session's handler.
    var redirectHandler: (any RedirectHandler)?
    /// Decides about what is stored in place of the session's handler.
    var cachedResponseHandler: (any CachedResponseHandler)?
    /// Answers challenges of requests that have no credential of their own.
    var credential: Credential?
    /// Serializers that are to be served, in the order in which they were attached.
    var slots = FewOf<SerializationSlot>()

    /// What has redirected the attempt under way, in order.
    var history: [HTTPResponse] = []
    /// The exchange under way.
    var exchange: (any Exchange)?
    /// Whether the transport was asked for the exchange, and has not returned it yet.
    var isStarting = false
    /// The head of the response, until the driver takes it, if the body is held back meanwhile.
    var head: HTTPResponse?
    /// The body of the exchange under way, on its way to a file.
    var fileBody: BodyFanOut?
    /// How the exchange ended, until the driver takes it.
    var outcome: ExchangeOutcome?
    /// Whether the session knows of the request, and the attempt loop may run.
    var isRegistered = false
    /// Whether it is the driver who starts the next exchange.
    var needsStart = false
    /// Whether some task runs the attempt loop.
    var isDriven = false
    /// The driver, when it waits for the exchange.
    var driver: ExchangeContinuation?
    /// How far the attempt's request is that is being made, outside the driver, for the exchange.
    var preparation: RequestPreparation?
    /// Ends the user's code that the driver awaits, or the preparation.
    var interruption: (@Sendable () -> Void)?

    var requests = FewOf<HTTPRequest>()
    var attempts = 0
    var last: CompletedAttempt?
    var error: RequestError?
    /// Asked about the head before any of the body comes, in this order.
    var headHandlers: [@Sendable (HTTPResponse) async -> ResponseDisposition] = []
    /// The latest head that was accepted.
    var response: HTTPResponse?
    /// Those who wait for it.
    var headWaiters: [Resumption<Void>] = []
    /// How many bytes of the body earlier attempts have fetched, and how many there will be with them, if that is known.
    var bytesBefore: (count: Int64, total: Int64?)?
    var progress: TransferProgress?
    var uploadProgress: TransferProgress?
    /// How fast the bodies come and go, from when the exchange began.
    var downloadMeter = ProgressMeter(now: 0)
    var uploadMeter = ProgressMeter(now: 0)
    var sequences = RequestSequences()

    mutating func takeHeadWaiters() -> [Resumption<Void>] {
        defer { headWaiters.removeAll() }
        return headWaiters
    }

    /// Whether there is something that the driver does not know.
    var hasEvent: Bool { !isStarting && (head != nil || outcome != nil) }

    /// Who is to hear that something has happened.
    enum Wakeup {
        case nobody
        case driver(ExchangeContinuation)
        /// Nobody drives the request yet.
        case newDriver
    }

    mutating func wake() -> Wakeup {
        guard hasEvent else { return .nobody }
        if let driver {
            self.driver = nil
            return .driver(driver)
        }
        guard !isDriven else { return .nobody }
        isDriven = true
        return .newDriver
    }

    /// What the driver learns next, in order.
    mutating func takeEvent() -> ExchangeEvent? {
        guard !isStarting else { return nil }
        if let head = head.take() { return .head(head) }
        return outcome.take().map(ExchangeEvent.outcome)
    }

    /// What one attempt came to.
    typealias Result = (last: CompletedAttempt?, error: RequestError?)

    /// Forgets what one attempt came to, since there will be another; returns it, to be released without the lock.
    mutating func beginAnew() -> Result {
        needsStart = true
        response = nil
        bytesBefore = nil
        progress = nil
        uploadProgress = nil
        return replaceResult(nil, nil)
    }

    /// Notes what an attempt came to; returns what was noted before, to be released without the lock.
    mutating func replaceResult(_ last: CompletedAttempt?, _ error: RequestError?) -> Result {
        (Swift.exchange(&self.last, with: last), Swift.exchange(&self.error, with: error))
    }

    /// Whether the driver is to start the exchange; says so once.
    mutating func takeNeedsStart() -> Bool {
        defer { needsStart = false }
        return needsStart
    }

    /// Notes the request that is to be adapted; returns whether it is still wanted.
    mutating func isPreparing(_ request: HTTPRequest) -> Bool {
        guard preparation != nil else { return false }
        preparation = .adapting(request)
        return true
    }

    /// Ends the preparation, for the one who gets it, with what would have interrupted it.
    mutating func takePreparation() -> (preparation: RequestPreparation, interruption: (@Sendable () -> Void)?)? {
        preparation.take().map { ($0, interruption.take()) }
    }

    mutating func takeSlots() -> FewOf<SerializationSlot> { slots.takeAll() }
}

/// How far the request of an attempt is.
enum RequestPreparation: Sendable {
    case converting
    case adapting(HTTPRequest)

    var request: HTTPRequest? {
        if case .adapting(let request) = self { request } else { nil }
    }
}
