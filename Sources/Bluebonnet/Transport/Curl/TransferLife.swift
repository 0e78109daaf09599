/// Where a transfer is between its start and its end.
///
/// This is a value type without I/O and without a clock. Each method is an event. It moves the transfer, and returns
/// the engine's next action, if there is one. An event without a meaning in the current place changes nothing.
///
/// A suspension removes a transfer from libcurl and from the queues until its request is sent. After that, libcurl
/// keeps the transfer and is paused.
struct TransferLife {
    enum Place {
        /// The transfer is not started, or is suspended and not in libcurl.
        case idle
        /// The transfer waits for its turn, because of a limit for requests or for connections.
        ///
        /// Its connect limit goes on if its server was evaluated before.
        case queued(continues: Bool)
        /// The request's body is being opened.
        case opening
        /// The transfer is in libcurl, which may connect, send and receive.
        case added
        /// An evaluator decides about the server; libcurl has ended the handshake.
        ///
        /// If the transfer was suspended meanwhile, it must wait for its turn again.
        indirect case awaitingVerdict(TrustCache.Key, wasSuspended: Bool)
        /// Libcurl has no more addresses, but sockets that it has given up may still connect; see ``SlowAddresses``.
        case connecting
        /// Libcurl has ended the transfer, with an error or not, and its last bytes wait for their reader.
        indirect case draining(RequestError?)
        case ended
    }

    /// The engine's next action.
    enum Action: Equatable {
        case nothing
        /// Ask whether the transfer may run, and call ``TransferLife/admitted(opensBody:)`` when it may.
        case admit
        /// Open the body, and then call ``TransferLife/bodyOpened()``.
        case open
        /// Add the transfer to libcurl; `continues` if its connect limit goes on.
        case add(continues: Bool)
        /// Remove the transfer from libcurl, which has not sent the request, and from the gate.
        case withdraw
        /// Give up the place among the transfers that wait or run.
        case leaveQueues
        /// Give up the place among the transfers that have a connection.
        case leaveGate
        /// Start the connect limit again.
        case restartLimit
        case pause
        /// Let libcurl continue in the directions that are not paused, or pause the others; see
        /// ``TransferState/isReceivingPaused`` and ``TransferState/isSendingPaused``.
        case unpause
    }

    private(set) var place = Place.idle
    private(set) var isSuspended: Bool

    init(isSuspended: Bool) { self.isSuspended = isSuspended }

    var isQueued: Bool { if case .queued = place { true } else { false } }
    var isAdded: Bool { if case .added = place { true } else { false } }
    var hasEnded: Bool { if case .ended = place { true } else { false } }

    // MARK: Until the transfer is in libcurl

    mutating func started() -> Action {
        guard case .idle = place, !isSuspended else { return .nothing }
        place = .queued(continues: false)
        return .admit
    }

    /// Called when no limit holds the transfer back; `opensBody` is whether its body must be opened first.
    mutating func admitted(opensBody: Bool) -> Action {
        guard case .queued(let continues) = place else { return .nothing }
        place = opensBody ? .opening : .added
        return opensBody ? .open : .add(continues: continues)
    }

    mutating func bodyOpened() -> Action {
        guard case .opening = place else { return .nothing }
        place = isSuspended ? .idle : .added
        return isSuspended ? .leaveQueues : .add(continues: false)
    }

    // MARK: From the caller

    /// Called when the caller suspends the transfer; `wasSent` is whether the request may have reached the server.
    mutating func suspended(wasSent: Bool) -> Action {
        guard !isSuspended else { return .nothing }
        isSuspended = true
        switch place {
        case .queued:
            place = .idle
            return .leaveQueues
        // Libcurl can pause a transfer, but not its connection setup, after which it would send the request.
        case .added where !wasSent, .connecting:
            place = .idle
            return .withdraw
        case .added: return .pause
        case .awaitingVerdict(let key, _):
            place = .awaitingVerdict(key, wasSuspended: true)
            return .withdraw
        case .idle, .opening, .draining, .ended: return .nothing
        }
    }

    mutating func resumed() -> Action {
        guard isSuspended else { return .nothing }
        isSuspended = false
        switch place {
        case .idle: return started()
        case .added: return .unpause
        case .awaitingVerdict: return .restartLimit
        case .queued, .opening, .connecting, .draining, .ended: return .nothing
        }
    }

    // MARK: From libcurl

    /// Called when libcurl has ended the handshake, because the server must be evaluated first.
    mutating func awaitsVerdict(_ key: TrustCache.Key) {
        if isAdded { place = .awaitingVerdict(key, wasSuspended: isSuspended) }
    }

    /// Called when the server was accepted.
    mutating func accepted() -> Action {
        guard case .awaitingVerdict(_, let wasSuspended) = place else { return .nothing }
        guard !isSuspended else {
            place = .idle
            return .leaveGate
        }
        place = wasSuspended ? .queued(continues: true) : .added
        return wasSuspended ? .admit : .add(continues: true)
    }

    /// Called when libcurl could not connect, but sockets that it has given up may.
    mutating func awaitsAddress() { if isAdded { place = .connecting } }

    /// Called when one of these sockets is connected.
    mutating func addressFound() -> Action {
        guard case .connecting = place else { return .nothing }
        place = isSuspended ? .idle : .added
        return isSuspended ? .withdraw : .add(continues: false)
    }

    /// Called when libcurl has ended the transfer, whose request is to be sent again.
    mutating func sendsAgain() -> Action {
        guard isAdded else { return .nothing }
        guard isSuspended else { return .add(continues: false) }
        place = .idle
        return .leaveGate
    }

    /// Called when libcurl has ended the transfer before its last bytes could be delivered.
    mutating func drains(_ error: RequestError?) -> Action {
        guard isAdded else { return .nothing }
        place = .draining(error)
        return .leaveGate
    }

    /// Ends the transfer; returns where it was, or `nil` if it has already ended.
    mutating func ends() -> Place? {
        guard !hasEnded else { return nil }
        return exchange(&place, with: .ended)
    }
}
