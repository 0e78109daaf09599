import BluebonnetLibc
import CCurl
import CSystem

/// Tries the next address of a host when an address does not answer (RFC 8305 §5).
///
/// Until 8.16.0, libcurl waits for the first address of an IP version for half of the time that is left, and then gives
/// the address up.
///
/// If a socket is not connected after 250 ms, the engine keeps it under another descriptor, and gives libcurl a socket
/// that has failed. Libcurl then tries the next address. The first kept socket that connects is put in the place of
/// libcurl's current socket. If libcurl has no more addresses, the transfer waits for the kept sockets, and is then
/// added to libcurl again with a connected socket.
///
/// This is a value type without I/O and without a clock.
struct SlowAddresses {
    /// Whether the installed libcurl has the defect.
    static let areGuarded = Libcurl.version < 0x08_10_00

    /// The time after which the next address is tried, unless the session has a delay of its own.
    static let patience: Int64 = 250_000_000
    /// The number of kept sockets; libcurl waits for the addresses after them.
    private static let limit = 8

    /// A socket with the number by which the system identifies it.
    struct Attempt: Equatable {
        let socket: Int32
        let identity: UInt64
    }

    /// What happens with a kept socket.
    enum Outcome: Equatable {
        case nothing
        /// Put the kept socket in the place of libcurl's socket.
        case replace(Attempt)
        /// Add the transfer to libcurl again, and let it use the kept socket.
        case restart
        /// The last kept socket has failed, and so has libcurl.
        case fail
    }

    /// The sockets of libcurl that may still be connecting, oldest first.
    private(set) var open: [Attempt] = []
    /// The sockets that libcurl no longer has.
    private(set) var kept: [Int32] = []
    /// The error of libcurl, which has no more addresses.
    private(set) var failure: RequestError?
    /// The connected socket that libcurl uses next.
    var connected: Int32?

    /// Whether the transfer waits for kept sockets, and is not in libcurl.
    var isWaiting: Bool { failure != nil }

    mutating func opened(_ attempt: Attempt) { open.append(attempt) }

    /// Called when a socket has been open for the patience; returns whether the next address is tried.
    mutating func expires(_ attempt: Attempt, isConnected: Bool) -> Bool {
        guard let index = open.firstIndex(of: attempt), !isConnected, kept.count < Self.limit else { return false }
        open.remove(at: index)
        return true
    }

    mutating func keeps(_ socket: Int32) { kept.append(socket) }

    /// Called when libcurl has failed to connect; returns whether the transfer waits for kept sockets.
    mutating func exhausted(_ error: @autoclosure () -> RequestError) -> Bool {
        guard !kept.isEmpty else { return false }
        failure = error()
        open = []
        return true
    }

    /// Called when the transfer is added to libcurl again, which then uses a connected socket.
    mutating func restarts(with socket: Int32) { (connected, failure) = (socket, nil) }

    /// Called when a kept socket is connected or has failed.
    mutating func ended(_ socket: Int32, isConnected: Bool, isOpen: (Attempt) -> Bool) -> Outcome {
        guard let index = kept.firstIndex(of: socket) else { return .nothing }
        kept.remove(at: index)
        open.removeAll { !isOpen($0) }
        if isConnected {
            if isWaiting { return .restart }
            if let last = open.last { return .replace(last) }
        }
        return isWaiting && kept.isEmpty ? .fail : .nothing
    }

    /// Ends the attempts; returns the sockets to close.
    mutating func end() -> [Int32] {
        defer { self = Self() }
        return kept + (connected.map { [$0] } ?? [])
    }
}

/// The sockets that libcurl opened less than the patience ago.
struct FreshAttempts {
    private let patience: Int64
    private var entries = ElementQueue<(id: TransferID, attempt: SlowAddresses.Attempt, due: Int64)>()

    /// Creates an empty queue; `delay` is the session's delay before the other IP version is tried.
    ///
    /// The delay is at least 10 ms (RFC 8305 §5).
    init(_ delay: Duration?) { patience = delay.map { max(10_000_000, $0.nanoseconds) } ?? SlowAddresses.patience }

    /// The time at which the next socket is judged.
    var due: Int64? { entries.oldest?.due }

    mutating func append(_ id: TransferID, _ attempt: SlowAddresses.Attempt, at now: Int64) {
        entries.append((id, attempt, now + patience))
    }

    /// Returns the next socket that is to be judged.
    mutating func next(at now: Int64) -> (TransferID, SlowAddresses.Attempt)? {
        guard let first = entries.oldest, first.due <= now else { return nil }
        _ = entries.popFirst()
        return (first.id, first.attempt)
    }
}

// Safety: the system writes into the values only within the calls.
extension Transfer {
    /// Called when libcurl has opened a socket for the transfer; returns whether the socket is already connected.
    func opened(_ socket: Int32) -> Bool {
        guard SlowAddresses.areGuarded, mayHaveAddresses else { return false }
        if let connected = slowAddresses?.connected {
            slowAddresses?.connected = nil
            defer { close(connected) }
            return multi?.replace(socket, by: connected) == true
        }
        var (type, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        guard unsafe getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0, type == SOCK_STREAM.rawValue else {
            return false
        }
        let attempt = SlowAddresses.Attempt(socket: socket, identity: bb_socket_identity(socket))
        slowAddresses = slowAddresses ?? SlowAddresses()
        slowAddresses?.opened(attempt)
        turn.freshAttempts.append(id, attempt, at: MonotonicClock.now())
        return false
    }

    /// Whether the host, or the proxy, may have several addresses.
    private var mayHaveAddresses: Bool {
        let host = countedOrigin.host
        return isProxied || !host.hasPrefix("[") && IPAddress.bytes(of: host) == nil
    }
}

extension TransferEngine {
    /// Lets libcurl try the next addresses of hosts whose addresses have not answered.
    func tryNextAddresses() {
        while let (id, attempt) = shared.freshAttempts.next(at: shared.now) {
            guard let transfer = transfers[id], let multi = transfer.multi, !transfer.wasSent,
                bb_socket_identity(attempt.socket) == attempt.identity,
                transfer.slowAddresses?.expires(attempt, isConnected: bb_socket_is_connected(attempt.socket) != 0)
                    == true
            else { continue }
            // If descriptors are scarce, the address is given up.
            let hasRoom = ConnectionBudget.shared.hasRoomForAttempt
            let kept = hasRoom ? fcntl(attempt.socket, F_DUPFD_CLOEXEC, 3) : -1
            guard multi.fail(attempt.socket) else {
                if kept >= 0 { close(kept) }
                // There is no descriptor for a socket that has failed, or libcurl no longer has the socket.
                transfer.slowAddresses?.opened(attempt)
                shared.freshAttempts.append(id, attempt, at: shared.now)
                continue
            }
            if kept >= 0 {
                transfer.slowAddresses?.keeps(kept)
                ConnectionBudget.shared.socketOpened()
                loop.watch(kept, for: .writable) { _ in self.keptSocketEnded(kept, of: id) }
            }
            multi.check(attempt.socket)
        }
    }

    /// Called when a transfer could not connect; returns whether it waits for kept sockets.
    func waitsForAddresses(_ transfer: Transfer, _ code: CURLcode, _ multi: MultiHandle) -> Bool {
        guard transfer.slowAddresses != nil, !transfer.wasSent, code == CURLE_COULDNT_CONNECT,
            let easy = transfer.easy
        else { return false }
        let failure = error(for: code, of: transfer)
        guard transfer.slowAddresses?.exhausted(failure) == true else { return false }
        multi.remove(easy)
        upgrades.opening[transfer.id] = nil
        transfer.life.awaitsAddress()
        return true
    }

    private func keptSocketEnded(_ socket: Int32, of id: TransferID) {
        shared.now = MonotonicClock.now()
        let isConnected = bb_socket_is_connected(socket) != 0
        loop.unwatch(socket)
        ConnectionBudget.shared.socketClosed()
        let transfer = transfers[id]
        let outcome = transfer?.slowAddresses?.ended(socket, isConnected: isConnected) {
            bb_socket_identity($0.socket) == $0.identity && bb_socket_is_connected($0.socket) == 0
        }
        switch outcome {
        case .replace(let attempt):
            let isReplaced = transfer?.multi?.replace(attempt.socket, by: socket) == true
            close(socket)
            if isReplaced { transfer?.multi?.check(attempt.socket) }
        case .restart:
            transfer?.slowAddresses?.restarts(with: socket)
            if let transfer { perform(transfer.life.addressFound(), on: transfer) }
        case .fail:
            close(socket)
            if let transfer, let failure = transfer.slowAddresses?.failure { finish(transfer, with: failure) }
        case .nothing, nil: close(socket)
        }
    }

    /// Closes the kept sockets of a transfer that has a connection, or needs none.
    func endAttempts(of transfer: Transfer) {
        let kept = transfer.slowAddresses?.kept ?? []
        for socket in kept {
            loop.unwatch(socket)
            ConnectionBudget.shared.socketClosed()
        }
        for socket in transfer.slowAddresses?.end() ?? [] { close(socket) }
        transfer.slowAddresses = nil
    }
}
