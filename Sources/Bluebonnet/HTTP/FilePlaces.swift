import Synchronization

/// The files that downloads and uploads of the process have open.
///
/// Each file takes a descriptor. A quarter of the process's descriptors is for them. Further downloads and uploads wait
/// before they open their files, in the order of their arrival. They fail when no file has been read or written for as
/// long as their idle limit allows, because all of the others may be suspended.
final class FilePlaces: Sendable {
    static let shared = FilePlaces(limit: nil)

    /// A place, which is returned when the object is released.
    final class Place: Sendable {
        private let places: FilePlaces

        fileprivate init(_ places: FilePlaces) { self.places = places }

        deinit { places.left() }
    }

    private struct State {
        var taken = 0
        var lastNumber = 0
        /// The requests that wait, by number, and their numbers in the order of their arrival; some have ended.
        var waiting: [Int: Resumption<Result<Void, RequestError>>] = [:]
        var order: ArraySlice<Int> = []

        /// Takes a place if one is free; returns whether it did.
        mutating func takePlace(limit: Int) -> Bool {
            guard taken < limit else { return false }
            taken += 1
            return true
        }

        mutating func popFirst() -> Resumption<Result<Void, RequestError>>? {
            while let number = order.popFirst() {
                if let first = waiting.removeValue(forKey: number) { return first }
            }
            return nil
        }
    }

    /// The number of files that may be open.
    var limit: Int { ownLimit ?? DescriptorShares.shared.limit }
    private let ownLimit: Int?
    private let now: @Sendable () -> Int64
    private let sleep: @Sendable (Duration) async throws -> Void
    private let state = Locked(State())
    private let waitingCount = Atomic<Int>(0)
    private let lastActivity = Atomic<Int64>(0)

    init(
        limit: Int?, now: @escaping @Sendable () -> Int64 = { MonotonicClock.now() },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await ContinuousClock().sleep(for: $0) }
    ) {
        ownLimit = limit
        self.now = now
        self.sleep = sleep
    }

    /// The number of requests that wait.
    var waiting: Int { waitingCount.load(ordering: .relaxed) }

    /// Takes a place if one is free.
    func free() -> Place? { state.withLock { $0.takePlace(limit: limit) } ? Place(self) : nil }

    /// Waits for a place.
    ///
    /// - Parameters:
    ///   - timeouts: The limits of the request: its pool limit or, without one, its idle limit for the time in
    ///     which no file was read or written.
    ///   - isSuspended: Whether the request is suspended, in which case the time does not count.
    /// - Returns: The place.
    /// - Throws: `.timedOut(.pool)`, or `.cancelled` if the task is cancelled.
    func next(
        _ timeouts: Timeouts, isSuspended: @escaping @Sendable () -> Bool = { false }
    ) async throws(RequestError) -> Place {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let watch = Locked<Task<Void, Never>?>(nil)
        defer { watch.withLock { $0.take() }?.cancel() }
        let result = await withTaskCancellationHandler {
            await withResumption { resumption in
                let isFree = state.withLock { state in
                    if state.takePlace(limit: limit) { return true }
                    state.waiting[number] = resumption
                    state.order.append(number)
                    waitingCount.add(1, ordering: .relaxed)
                    return false
                }
                if isFree { return resumption.resume(returning: .success(())) }
                // Begins when the wait can be ended.
                watch.withLock { $0 = Task { await self.watch(number, timeouts, isSuspended) } }
                // The handler has found nothing if the task was cancelled before.
                if Task.isCancelled { end(number, RequestError(.cancelled)) }
            }
        } onCancel: {
            end(number, RequestError(.cancelled))
        }
        try result.get()
        return Place(self)
    }

    /// Ends a wait that lasts too long.
    private func watch(_ number: Int, _ timeouts: Timeouts, _ isSuspended: @Sendable () -> Bool) async {
        guard let limit = timeouts.pool ?? timeouts.idle else { return }
        var start = now()
        while true {
            if isSuspended() { start = now() }
            let since = timeouts.pool == nil ? max(start, lastActivity.load(ordering: .relaxed)) : start
            guard case let rest = since + limit.nanoseconds - now(), rest > 0 else { break }
            guard (try? await sleep(.nanoseconds(rest))) != nil else { return }
        }
        let event =
            timeouts.pool == nil
            ? "none of the files of downloads and uploads was read, written or closed for \(limit), the idle limit"
            : "no file of a download or an upload was closed within \(limit), the pool limit"
        let detail = "\(event); the process may have \(self.limit) such files open"
        end(number, RequestError(.timedOut(.pool), detail: detail))
    }

    private func end(_ number: Int, _ error: RequestError) {
        let waiting = state.withLock { state in
            let waiting = state.waiting.removeValue(forKey: number)
            if state.order.count > 2 * state.waiting.count + 64 {
                state.order.removeAll { state.waiting[$0] == nil }
            }
            return waiting
        }
        guard let waiting else { return }
        waitingCount.subtract(1, ordering: .relaxed)
        waiting.resume(returning: .failure(error))
    }

    /// Called when a part of a file was read or written.
    func progressed() {
        if waitingCount.load(ordering: .relaxed) > 0 { lastActivity.store(now(), ordering: .relaxed) }
    }

    private func left() {
        let next = state.withLock { state in
            let next = state.popFirst()
            if next == nil { state.taken -= 1 }
            return next
        }
        guard let next else { return }
        waitingCount.subtract(1, ordering: .relaxed)
        lastActivity.store(now(), ordering: .relaxed)
        next.resume(returning: .success(()))
    }
}
