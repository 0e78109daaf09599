import FoundationEssentials

/// Decides how an exchange with a cache reacts to events.
///
/// This is a value type without I/O and without a clock.
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
        case fetching((any Exchange)?)
        /// The head has been delivered, and the body is delivered when the caller wants it.
        case delivering(Delivery)
        case ended
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

    var inner: (any Exchange)? { if case .fetching(let exchange) = stage { exchange } else { nil } }

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
    mutating func willFetch() -> Bool? {
        guard case .working = stage else { return nil }
        stage = .fetching(nil)
        isHandlingEvents = true
        return isSuspended
    }

    /// Records the inner exchange; returns whether to cancel it.
    mutating func exchangeStarted(_ exchange: any Exchange) -> Bool {
        guard case .fetching = stage else { return false }
        stage = .fetching(exchange)
        return stopError != nil
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
        case .fetching(let exchange): return exchange.map(Action.cancel) ?? .nothing
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
