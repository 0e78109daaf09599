import BluebonnetLibc
import COpenSSL
import CSystem
import Synchronization

/// Ends connections on which a peer keeps libcurl busy with bytes that are not part of a response.
///
/// Libcurl reads bytes for which it calls no callback. Examples are empty DATA frames, PRIORITY and ALTSVC frames
/// (RFC 9113 §10.5), TLS tickets, chunk extensions, and the body of a proxy's response to CONNECT. While they arrive, a
/// call may not return, or the next call follows immediately: no time limit works, and no other transfer on the loop
/// makes progress. All tested versions do this, 7.88 to 8.23.
///
/// While there are transfers that may use TLS, HTTP/2 or a proxy, a separate thread checks the loops that are busy. It
/// replaces a socket by a socket whose peer is closed; see ``FloodWindow``. Tickets and new keys of TLS without end are
/// noticed sooner, by ``TLSObserver``.
// Safety: C types are passed by value or within a call.
final class FloodGuard: Sendable {
    private static let interval: Int64 = 15_000_000
    /// The size of a stream's window in the versions that store the bytes of streams.
    fileprivate static let storableByTransfer = (0x08_01_00..<0x08_07_00).contains(Libcurl.version) ? 10 << 20 : 0
    /// The number of checks of a loop without transfers after which the guard stops checking it.
    private static let idleLimit = 100

    static let shared = FloodGuard { DetachedThread.start(name: "bluebonnet-guard", $0) }

    /// The error message for a connection that was ended.
    static let message = "the connection was closed: the server sent too many bytes that belong to no response"

    private let watched = Locked<[FloodMonitor]>([])
    private let isRunning = Locked(false)
    /// Starts a thread; returns whether the system has one.
    private let start: @Sendable (@escaping @Sendable () -> Void) -> Bool

    init(start: @escaping @Sendable (@escaping @Sendable () -> Void) -> Bool) { self.start = start }

    /// Checks a monitor until it has had no transfers for some time.
    func monitor(_ monitor: FloodMonitor) {
        watched.withLock { $0.append(monitor) }
        guard !isRunning.withLock({ exchange(&$0, with: true) }) else { return }
        guard !start({ self.run() }) else { return }
        // The next transfer starts the thread again.
        watched.withLock { watched in
            isRunning.withLock { $0 = false }
            for monitor in watched { monitor.isForgotten() }
            watched.removeAll()
        }
    }

    private func run() {
        var windows: [ObjectIdentifier: (window: FloodWindow, idle: Int)] = [:]
        while true {
            bb_sleep(Self.interval)
            let monitors = watched.withLock { $0 }
            for monitor in monitors {
                let id = ObjectIdentifier(monitor)
                var (window, idle) = windows[id] ?? (FloodWindow(), 0)
                idle = monitor.hasTransfers ? 0 : idle + 1
                guard let time = monitor.processorTime, idle <= Self.idleLimit else {
                    windows[id] = nil
                    forget(monitor)
                    continue
                }
                let now = MonotonicClock.now()
                if window.needsSample(at: now, processorTime: time, cancelled: monitor.counts.cancelledStreams) {
                    let (sample, identities) = monitor.sample()
                    if let socket = window.flooded(sample) { monitor.cut(socket, identities[Int(socket)]) }
                }
                windows[id] = (window, idle)
            }
            let isDone = watched.withLock { watched in
                guard watched.isEmpty else { return false }
                isRunning.withLock { $0 = false }
                return true
            }
            if isDone { return }
        }
    }

    private func forget(_ monitor: FloodMonitor) {
        watched.withLock { watched in
            if monitor.stopIfIdle() { watched.removeAll { $0 === monitor } }
        }
    }
}

/// Decides whether a connection is flooded.
///
/// This is a value type without I/O and without a clock.
///
/// A window begins when a loop is busy. It ends when the loop has not been busy for a quarter of a second, and after
/// two seconds. A connection is flooded under these conditions:
///
/// - In the window, the loop has used 50 ms of processor time.
/// - It has read 128 KiB from the connection, and what libcurl may store. Libcurl stores the bytes of a paused or
///   cancelled stream until the window of the stream is full. Versions 8.1 to 8.6 store the bytes of all HTTP/2 streams
///   while one transfer reads. Storing is quick: a loop that is slow with many bytes does something else with them.
/// - The callbacks have received less than a sixteenth of these bytes.
///
/// Unread bytes in other sockets do not count, so a connection is not ended if the loop is busy for another reason,
/// unless libcurl stores the bytes of a stream at the same time.
struct FloodWindow {
    /// The number of bytes that libcurl may read for a stream without a reader.
    ///
    /// This is the window of the stream, and as much again for the overhead of small frames and TLS records.
    static let unreadBytes: UInt64 = 2 * (Libcurl.version < 0x08_01_00 ? 32 << 20 : 10 << 20)

    /// What was read from the sockets and reported up to a moment.
    struct FloodSample: Equatable {
        /// The number of response bytes that libcurl has reported so far, plus the request bytes that it has requested.
        var reportedBytes: UInt64
        /// The number of bytes that were read from each socket so far.
        var read: [Int32: UInt64] = [:]
        /// The number of response bytes that libcurl may store while it reads for another transfer.
        var storable: UInt64 = 0
        /// The number of streams that are paused.
        var paused: UInt64 = 0
        /// The number of pauses of streams so far.
        var pauses: UInt64 = 0
        /// The number of transfers, up to 25.
        var transfers: UInt64 = 0
        /// The number of streams so far that ended before their responses were complete.
        var cancelled: UInt64 = 0
    }

    private struct Start {
        let time: Int64
        let processorTime: Int64
        var sample: FloodSample?
        /// The processor time after which a sample is needed.
        var patience = FloodWindow.samplingDelay
    }

    /// Most windows end earlier, and need no sample.
    private static let samplingDelay: Int64 = 10_000_000
    private static let timeLimit: Int64 = 50_000_000
    private static let byteLimit: UInt64 = 128 * 1024
    /// The processor time after which a loop that reads few bytes does not store them.
    ///
    /// It stores some hundred MiB per second, also when it decrypts them. It reads 5 to 20 MiB of small frames.
    private static let storingTime: Int64 = 400_000_000
    /// The minimum number of bytes that a loop reads in a second of processor time if it stores them.
    ///
    /// On a slow machine, this is a quarter of the bytes that the machine can encrypt in this time.
    private static let storedInSecond: UInt64 = {
        let (most, sample): (UInt64, UInt64) = (32 << 20, 256 << 10)
        let clock = bb_current_thread_clock()
        let start = bb_clock_time(clock)
        guard bb_encrypt_zeros(Int32(sample)) != 0 else { return most }
        let time = UInt64(max(1, bb_clock_time(clock) - start))
        return min(most, sample * 1_000_000_000 / time / 4)
    }()
    private static let longest: Int64 = 2_000_000_000
    /// A loop is busy if it uses this part of the time; on a machine with much other work, it may not get more.
    private static let busyPart: Int64 = 16
    /// The time without a busy interval after which a window ends; on such a machine, the loop may have to wait.
    private static let longestPause: Int64 = 250_000_000

    private var last: (time: Int64, processorTime: Int64)?
    private var lastBusy: Int64 = 0
    private var start: Start?
    /// The number of streams that had been cancelled 2 to 4 s ago, and at most 2 s ago.
    private var cancelled: (time: Int64, earlier: UInt64, later: UInt64)?

    /// Returns whether ``flooded(_:)`` must be called.
    ///
    /// The parameters are the processor time that the loop's thread has used, and the number of cancelled streams.
    mutating func needsSample(at time: Int64, processorTime: Int64, cancelled count: UInt64) -> Bool {
        defer { last = (time, processorTime) }
        let before = cancelled ?? (time, count, count)
        cancelled = time - before.time < Self.longest ? before : (time, before.later, count)
        guard let last else { return false }
        let isBusy = (processorTime - last.processorTime) * Self.busyPart >= time - last.time
        if isBusy { lastBusy = time }
        guard time - lastBusy < Self.longestPause else {
            start = nil
            return false
        }
        guard isBusy else { return false }
        guard let start, time - start.time < Self.longest else {
            self.start = Start(time: time, processorTime: processorTime)
            return false
        }
        return processorTime - start.processorTime >= start.patience
    }

    /// Returns the socket to replace, given the current sample; `nil` if there is none.
    mutating func flooded(_ now: FloodSample) -> Int32? {
        guard let first = start?.sample else {
            start?.sample = now
            start?.patience = Self.samplingDelay + Self.timeLimit
            return nil
        }
        start?.patience *= 2
        let growth = now.read.map { ($0.key, $0.value - min($0.value, first.read[$0.key] ?? 0)) }
        // A stream may have been paused and continued in the meantime.
        let paused = max(first.paused, now.paused, min(first.paused + now.pauses - first.pauses, now.transfers))
        let unread = paused + now.cancelled - (cancelled?.earlier ?? now.cancelled)
        let stored = now.storable + unread * Self.unreadBytes
        guard let (socket, bytes) = growth.max(by: { $0.1 < $1.1 }),
            bytes >= Self.byteLimit + (mayStore(bytes) ? stored : 0),
            now.reportedBytes - first.reportedBytes < bytes / 16
        else { return nil }
        start = nil
        return socket
    }

    /// Whether the loop was quick enough to have stored the bytes that it has read in the window.
    private func mayStore(_ bytes: UInt64) -> Bool {
        guard let start, let last else { return true }
        let time = last.processorTime - start.processorTime
        return time < Self.storingTime || bytes >= Self.storedInSecond / 1000 * UInt64(time / 1_000_000)
    }
}

/// What the guard must know of an engine's transfers.
///
/// The loop's thread counts for all of the engine's multi handles, and the guard reads the counts.
final class ReceiveCounts: Sendable {
    private let reported = Atomic<UInt64>(0)
    private let paused = Atomic<UInt64>(0)
    private let begunPauses = Atomic<UInt64>(0)
    private let cancelled = Atomic<UInt64>(0)
    private let notifyCut = Locked<(@Sendable (Int32) -> Void)?>(nil)

    /// Sets the closure that is called on the guard's thread after a connection was ended.
    func onCut(_ notify: @escaping @Sendable (Int32) -> Void) { notifyCut.withLock { $0 = notify } }

    fileprivate func wasCut(_ socket: Int32) { notifyCut.withLock { $0 }?(socket) }

    /// The number of response bytes that libcurl has passed to its callbacks, plus the request bytes that it has
    /// requested.
    var reportedBytes: UInt64 { reported.load(ordering: .relaxed) }
    /// The number of streams that are paused now.
    var pausedStreams: UInt64 { paused.load(ordering: .relaxed) }
    /// The number of times so far that a stream was paused.
    var pauses: UInt64 { begunPauses.load(ordering: .relaxed) }
    /// The number of streams so far that ended before their responses were complete.
    var cancelledStreams: UInt64 { cancelled.load(ordering: .relaxed) }

    func add(_ count: Int) { Self.add(UInt64(count), to: reported) }

    func streamPaused() {
        Self.add(1, to: paused)
        Self.add(1, to: begunPauses)
    }

    func streamContinues() { Self.add(.max, to: paused) }

    func streamCancelled() { Self.add(1, to: cancelled) }

    /// Only one thread writes.
    private static func add(_ count: UInt64, to counter: borrowing Atomic<UInt64>) {
        counter.store(counter.load(ordering: .relaxed) &+ count, ordering: .relaxed)
    }
}

/// The guard's view of a libcurl multi handle.
///
/// The loop's thread counts, and the guard reads the counts. The lock is held while a socket is closed or replaced, so
/// that the guard never uses a descriptor that has been reused.
final class FloodMonitor: Sendable {
    let counts: ReceiveCounts
    private let transfers = Atomic<Int>(0)
    private let clock = Atomic<Int>(-1)
    private let isWatched = Atomic<Bool>(false)
    /// The sockets of libcurl with their identities in the system; libcurl does not report every close.
    ///
    /// The keys are `Int`; see ``TransferID``.
    private let sockets = Locked<[Int: UInt64]>([:])
    /// The connections that were ended, with the time.
    private let cuts = Locked<[(ends: ConnectionEndpoints, time: Int64)]>([])

    private let floodGuard: FloodGuard

    init(counts: ReceiveCounts, guardedBy floodGuard: FloodGuard = .shared) {
        (self.counts, self.floodGuard) = (counts, floodGuard)
    }

    var hasTransfers: Bool { transfers.load(ordering: .relaxed) > 0 }

    // MARK: On the loop's thread

    /// Called when a transfer begins that the guard must watch.
    func transferBegins() {
        transfers.add(1, ordering: .sequentiallyConsistent)
        clock.store(Int(bb_current_thread_clock()), ordering: .relaxed)
        guard !isWatched.exchange(true, ordering: .sequentiallyConsistent) else { return }
        floodGuard.monitor(self)
    }

    func transferEnded() {
        transfers.subtract(1, ordering: .relaxed)
    }

    /// Whether a connection was ended.
    func hasCut(_ easy: EasyHandle?) -> Bool {
        guard cuts.withLock({ !$0.isEmpty }), let connection = easy?.connectionEnds else { return false }
        return cuts.withLock { cuts in
            // Another connection may have the same endpoints later.
            let now = MonotonicClock.now()
            cuts.removeAll { $0.time < now - Self.memory }
            return cuts.contains { $0.ends == connection }
        }
    }

    private static let memory: Int64 = 2_000_000_000

    func opened(_ socket: Int32) {
        sockets.withLock { $0[Int(socket)] = bb_socket_identity(socket) }
    }

    /// Called when a socket will be closed by libcurl.
    func forget(_ socket: Int32) { sockets.withLock { $0[Int(socket)] = nil } }

    /// Closes a socket under the lock.
    func close(_ socket: Int32) -> Int32 {
        sockets.withLock { sockets in
            sockets[Int(socket)] = nil
            return BluebonnetLibc.close(socket)
        }
    }

    // MARK: On the guard's thread

    /// The processor time of the loop's thread in nanoseconds; `nil` if the thread has ended.
    var processorTime: Int64? {
        let time = bb_clock_time(Int32(clock.load(ordering: .relaxed)))
        return time < 0 ? nil : time
    }

    /// Returns what the window must know, and the identities of the sockets at this moment.
    func sample() -> (FloodWindow.FloodSample, identities: [Int: UInt64]) {
        let count = min(max(0, transfers.load(ordering: .relaxed)), 25)
        let (read, identities) = sockets.withLock { sockets in
            let read = sockets.reduce(into: [Int32: UInt64]()) { counts, entry in
                let socket = Int32(entry.key)
                if entry.value == bb_socket_identity(socket) { counts[socket] = bb_socket_read(socket) }
            }
            return (read, sockets)
        }
        let sample = FloodWindow.FloodSample(
            reportedBytes: counts.reportedBytes, read: read, storable: UInt64(count * FloodGuard.storableByTransfer),
            paused: counts.pausedStreams, pauses: counts.pauses, transfers: UInt64(count),
            cancelled: counts.cancelledStreams)
        return (sample, identities)
    }

    /// Ends a connection, unless the descriptor has another identity than in the sample.
    func cut(_ socket: Int32, _ sampled: UInt64?) {
        let isCut = end(socket, onlyIf: sampled) {
            // This must happen before libcurl notices the replacement.
            if let ends = ConnectionEndpoints(of: socket) { cuts.withLock { $0.append((ends, MonotonicClock.now())) } }
        }
        // Unless libcurl reads at this moment, nothing reports the end: the loop watched the replaced socket.
        if isCut { counts.wasCut(socket) }
    }

    // MARK: On any thread

    /// Called when no thread checks the monitor; the next transfer asks for one.
    func isForgotten() { isWatched.store(false, ordering: .sequentiallyConsistent) }

    /// Replaces an open socket by a socket whose peer is closed, if the descriptor still refers to the same socket.
    ///
    /// - Parameters:
    ///   - socket: The socket.
    ///   - sampled: The identity that the socket must have; `nil` for any.
    ///   - fails: Whether the new socket has an error, as after a failed connect.
    ///   - note: A closure that is called before the replacement.
    /// - Returns: Whether the socket was replaced.
    func end(
        _ socket: Int32, onlyIf sampled: UInt64? = nil, fails: Bool = false, before note: () -> Void = {}
    ) -> Bool {
        sockets.withLock { sockets in
            guard let identity = sockets[Int(socket)], identity == bb_socket_identity(socket),
                sampled == nil || sampled == identity
            else { return false }
            note()
            return bb_replace_by_dead_socket(socket, fails ? 1 : 0) != 0
        }
    }

    /// Replaces an open socket by another one, which the caller closes; returns whether it was replaced.
    func replace(_ socket: Int32, by other: Int32) -> Bool {
        sockets.withLock { sockets in
            guard bb_replace_socket(socket, other) != 0 else { return false }
            sockets[Int(socket)] = bb_socket_identity(socket)
            return true
        }
    }

    /// Makes the guard stop checking the monitor, unless transfers have begun; returns whether it may stop.
    func stopIfIdle() -> Bool {
        isWatched.store(false, ordering: .sequentiallyConsistent)
        guard transfers.load(ordering: .sequentiallyConsistent) > 0,
            !isWatched.exchange(true, ordering: .sequentiallyConsistent)
        else { return true }
        return false
    }
}
