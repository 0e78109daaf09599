import FoundationEssentials

/// Decides how an exchange with a cache reacts to events.
///
/// This is a value type without I/O. Its methods are events.
///
/// An exchange has one of two sequences of stages:
///
/// - with a stored response: `working` (the lookup), `held` (the response waits for its delivery), `delivering` (the
///   body follows the head, if the caller wants the head first), `ended`;
/// - with the server: `working` (the lookup, or the wait for an equal request), `fetching`, `working` (storing the
///   response or preparing another request), and then `ended`, or `held` if the caller wants the head first.
///
/// A cancellation ends every stage immediately, except `fetching` and a `delivering` stage whose receiver is running.
/// In the first, the cancellation cancels the inner exchange, and the stage ends with the inner exchange. The second
/// ends when the receiver returns.
///
/// Events of the inner exchange wait until the inner exchange is recorded, because their handling may need it.
struct CachingExchangeState {
    enum Stage {
        /// The stored response is being looked up, an equal request is being awaited, or the received response is being
        /// stored; the closure interrupts the work.
        case working((@Sendable () -> Void)?)
        /// The response is available, but has not been delivered.
        case held(HeldResponse)
        /// The inner exchange is running. The value is `nil` until the inner exchange is recorded.
        case fetching(Fetch, (any Exchange)?)
        /// The head has been delivered, and the body is delivered when the caller wants it.
        case delivering(Delivery)
        case ended
    }

    /// An exchange with the server.
    struct Fetch: Sendable {
        /// The stored response that is validated or completed.
        var validated: StoredResponse?
        /// Whether the validators of the stored response were added to the request.
        var isConditional = false
        /// The reason why the request is sent.
        var reason = CacheStatus.Forward.miss
        /// Whether the stored response has already been delivered (RFC 5861 §3).
        var isBackground = false
        var began = Date.distantPast
        /// The epoch of the cache key when the fetch began.
        ///
        /// If the epoch has changed since then, the response is not stored.
        var epoch: UInt64 = 0
        fileprivate(set) var response = Response.held

        /// What happens with the server's response.
        enum Response: Sendable {
            /// The observer has received nothing of it.
            case held
            /// It is being cancelled, because the server has failed, and the stored response replaces it.
            case replaced
            /// The observer has received the head, which is `storable` if the body may be stored while it is read.
            case forwarded(storable: HTTPResponse?)
            /// The body becomes a part of the outcome.
            case collected
            /// The observer's receiver reads the body, which is perhaps stored meanwhile.
            case read(Storing?)
        }

        var isReplaced: Bool { if case .replaced = response { true } else { false } }
        var isCollected: Bool { if case .collected = response { true } else { false } }
        /// Whether the observer has received the head, and receives the body itself.
        var isForwarded: Bool {
            switch response {
            case .held, .replaced: false
            case .forwarded, .collected, .read: true
            }
        }
        /// Whether the body of the response was requested.
        var isBodyRequested: Bool {
            switch response {
            case .held, .replaced, .forwarded: false
            case .collected, .read: true
            }
        }
        var storableHead: HTTPResponse? { if case .forwarded(let head) = response { head } else { nil } }
        var storing: Storing? { if case .read(let storing) = response { storing } else { nil } }
    }

    /// A body that is written while it is read.
    struct Storing: Sendable {
        let writer: ResponseWriter
        let receiver: StoringReceiver

        /// Waits until the body is written; returns the body and its file, or `nil` if the body cannot be stored.
        func end() async -> (body: StoredBody, file: PartialEntry?)? {
            guard await receiver.end() else {
                writer.abandon()
                return nil
            }
            return writer.end()
        }
    }

    /// A wait for the response to an equal request.
    struct Wait: Sendable {
        let reason: CacheStatus.Forward
        /// The beginning of the wait by the cache's clock.
        let time: Date
        let began = ContinuousClock.now
        var timer: Task<Void, Never>?
    }

    /// The delivery of a body.
    struct Delivery {
        let answer: HeldResponse
        var reader = Reader.undecided
        var offset = 0
        /// Whether a thread is delivering the head, reading the body, or running the receiver.
        var isRunning = true
        /// Whether the receiver wants no more bytes for now.
        var isPaused = false
        /// Whether the receiver has asked for more bytes while it was running.
        var wantsMore = false
        /// The error with which the delivery ends.
        var error: RequestError?
    }

    /// The way in which the caller reads the body.
    enum Reader {
        case undecided
        /// The body becomes a part of the outcome.
        case collecting
        case receiver(any BodyReceiver)
    }

    /// The beginning of a delivery.
    enum DeliveryStart {
        case wait
        /// Deliver the head, and then the body on demand.
        case head(HTTPResponse)
        case whole(HeldResponse)
    }

    /// The next step of a delivery.
    enum DeliveryStep {
        case wait
        case collect(HeldResponse)
        case read(HeldResponse, offset: Int, any BodyReceiver)
        case complete(ExchangeOutcome)
    }

    /// An event of the inner exchange.
    enum Event {
        case head(HTTPResponse)
        case outcome(ExchangeOutcome)
    }

    /// The reaction to a cancellation.
    enum Action {
        case nothing
        /// Cancel the inner exchange.
        case cancel(any Exchange)
        /// Deliver the outcome, after interrupting the current work.
        case complete(ExchangeOutcome, interruption: (@Sendable () -> Void)?)
    }

    private(set) var stage = Stage.working(nil)
    /// The wait that has preceded the later stages, or is going on; `nil` if there was none.
    var wait: Wait?
    /// Whether an available response must wait.
    var isSuspended: Bool
    /// The reason of a cancellation or a shutdown.
    private(set) var stopError: RequestError?
    private var events: [Event] = []
    /// Whether a thread is handling events; other threads only append their events.
    private var isHandlingEvents = false

    init(isSuspended: Bool) {
        self.isSuspended = isSuspended
    }

    var isEnded: Bool { if case .ended = stage { true } else { false } }

    var inner: (any Exchange)? { if case .fetching(_, let exchange) = stage { exchange } else { nil } }
    var fetch: Fetch? { if case .fetching(let fetch, _) = stage { fetch } else { nil } }

    // MARK: Delivering

    /// Records the response; returns whether it may be delivered immediately.
    mutating func found(_ answer: HeldResponse) -> Bool {
        guard case .working = stage else { return false }
        stage = .held(answer)
        return !isSuspended
    }

    /// Begins the delivery, unless the exchange is suspended or has no response to deliver.
    ///
    /// - Parameter headFirst: Whether the body is delivered only on demand.
    /// - Returns: The first step.
    mutating func delivering(headFirst: Bool) -> DeliveryStart {
        guard case .held(let answer) = stage, !isSuspended else { return .wait }
        guard headFirst, answer.error == nil, let response = answer.response else {
            stage = .ended
            return .whole(answer)
        }
        stage = .delivering(Delivery(answer: answer))
        return .head(response)
    }

    /// Changes the delivery; returns whether the caller must now run it.
    mutating func resumesDelivery(_ change: (inout Delivery) -> Void = { _ in }) -> Bool {
        guard case .delivering(var delivery) = stage else { return false }
        change(&delivery)
        if !delivery.isRunning { delivery.wantsMore = false }
        let waits = delivery.isRunning || delivery.isPaused || isSuspended
        delivery.isRunning = delivery.isRunning || !waits
        stage = .delivering(delivery)
        return !waits
    }

    /// Returns the next step of a running delivery, and ends its run if it has to wait.
    mutating func nextStep() -> DeliveryStep {
        guard case .delivering(var delivery) = stage else { return .wait }
        let isComplete = delivery.offset == delivery.answer.bytes.count
        let waits = isSuspended || delivery.isPaused
        switch delivery.reader {
        case _ where delivery.error != nil, .receiver where isComplete && !waits:
            stage = .ended
            return .complete(delivery.answer.outcome(error: delivery.error))
        case .collecting where !waits:
            stage = .ended
            return .collect(delivery.answer)
        case .receiver(let receiver) where !waits:
            return .read(delivery.answer, offset: delivery.offset, receiver)
        case .undecided, .collecting, .receiver:
            delivery.isRunning = false
            stage = .delivering(delivery)
            return .wait
        }
    }

    /// Records a delivered piece of the body, or a failure.
    mutating func delivered(_ count: Int, isPaused: Bool, error: RequestError?) {
        guard case .delivering(var delivery) = stage else { return }
        delivery.offset += count
        delivery.isPaused = isPaused && !delivery.wantsMore
        delivery.wantsMore = false
        delivery.error = delivery.error ?? error
        stage = .delivering(delivery)
    }

    // MARK: Fetching

    /// Starts the fetch; returns whether the inner exchange starts suspended, or `nil` if it must not start.
    mutating func willFetch(_ fetch: Fetch) -> Bool? {
        guard case .working = stage else { return nil }
        stage = .fetching(fetch, nil)
        isHandlingEvents = true
        return isSuspended
    }

    /// Records the inner exchange; returns whether to cancel it.
    mutating func exchangeStarted(_ exchange: any Exchange) -> Bool {
        guard case .fetching(let fetch, _) = stage else { return false }
        stage = .fetching(fetch, exchange)
        return stopError != nil
    }

    /// Called when a head is forwarded to the observer.
    mutating func headForwarded(storable: HTTPResponse?) {
        guard case .fetching(var fetch, let exchange) = stage, case .held = fetch.response else { return }
        fetch.response = .forwarded(storable: storable)
        stage = .fetching(fetch, exchange)
    }

    /// Called when the stored response replaces that of a server that has failed.
    mutating func responseReplaced() {
        guard case .fetching(var fetch, let exchange) = stage, case .held = fetch.response else { return }
        fetch.response = .replaced
        stage = .fetching(fetch, exchange)
    }

    /// Called when the observer requests the body of a forwarded response.
    mutating func bodyRequested(_ response: Fetch.Response) {
        guard case .fetching(var fetch, let exchange) = stage, case .forwarded = fetch.response else { return }
        fetch.response = response
        stage = .fetching(fetch, exchange)
    }

    /// Adds an event of the inner exchange; returns whether the caller must handle the events.
    mutating func received(_ event: Event) -> Bool {
        events.append(event)
        guard !isHandlingEvents else { return false }
        isHandlingEvents = true
        return true
    }

    /// Returns the next event; `nil` if there are no more events, which ends the handling.
    mutating func nextEvent() -> Event? {
        guard !events.isEmpty else {
            isHandlingEvents = false
            return nil
        }
        let event = events.removeFirst()
        // The outcome is the last event of an exchange; further events can only come from another exchange.
        if case .outcome = event { isHandlingEvents = false }
        return event
    }

    /// Ends the exchange; returns whether to deliver its outcome, which is `false` if the exchange had already ended.
    mutating func ended() -> Bool {
        if case .ended = stage { return false }
        stage = .ended
        return true
    }

    /// Begins work before the outcome is delivered; returns whether to do the work.
    mutating func willWork() -> Bool {
        guard case .fetching = stage, stopError == nil else { return false }
        stage = .working(nil)
        return true
    }

    /// Records how to interrupt the current work; returns whether to interrupt it immediately.
    mutating func workBegan(endedBy interruption: @escaping @Sendable () -> Void) -> Bool {
        guard case .working = stage else { return stopError != nil }
        stage = .working(interruption)
        return false
    }

    /// Stops the exchange after a cancellation or a shutdown of the transport.
    mutating func stopped(with error: RequestError) -> Action {
        stopError = stopError ?? error
        var interruption: (@Sendable () -> Void)?
        switch stage {
        case .ended: return .nothing
        case .fetching(_, let exchange): return exchange.map(Action.cancel) ?? .nothing
        case .delivering(var delivery) where delivery.isRunning:
            delivery.error = delivery.error ?? error
            stage = .delivering(delivery)
            return .nothing
        case .working(let closure): interruption = closure
        case .held, .delivering: break
        }
        stage = .ended
        return .complete(ExchangeOutcome(response: nil, error: error), interruption: interruption)
    }
}
