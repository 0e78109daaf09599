import Synchronization

/// The downloads of the process that have a file open.
///
/// Each file takes a descriptor. A quarter of the process's descriptors is for downloads; further downloads wait before
/// they open their files, in the order of their arrival. They fail when none of the others has written for as long as
/// their idle limit allows, because all of them may be suspended.
final class DownloadPlaces: Sendable {
    static let shared = DownloadPlaces(limit: ConnectionBudget.shared.limit)

    /// A place, which is returned when the object is released.
    final class Place: Sendable {
        private let places: DownloadPlaces

        fileprivate init(_ places: DownloadPlaces) { self.places = places }

        deinit { places.left() }

        /// Called when the download has written a part of its file.
        func progressed() { places.progressed() }
    }

    private struct State {
        var taken = 0
        var lastNumber = 0
        /// The downloads that wait, by number, and their numbers in the order of their arrival; some have ended.
        var waiting: [Int: Resumption<Result<Void, RequestError>>] = [:]
        var order: ArraySlice<Int> = []

        mutating func popFirst() -> Resumption<Result<Void, RequestError>>? {
            while let number = order.popFirst() {
                if let first = waiting.removeValue(forKey: number) { return first }
            }
            return nil
        }
    }

    /// The number of downloads that may have a file open.
    let limit: Int
    private let now: @Sendable () -> Int64
    private let sleep: @Sendable (Duration) async throws -> Void
    private let state = Locked(State())
    private let waitingCount = Atomic<Int>(0)
    private let lastActivity = Atomic<Int64>(0)

    init(
        limit: Int, now: @escaping @Sendable () -> Int64 = { MonotonicClock.now() },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await ContinuousClock().sleep(for: $0) }
    ) {
        self.limit = limit
        self.now = now
        self.sleep = sleep
    }

    /// The number of downloads that wait.
    var waiting: Int { waitingCount.load(ordering: .relaxed) }

    /// Takes a place if one is free.
    func free() -> Place? {
        let isFree = state.withLock { state in
            guard state.taken < limit else { return false }
            state.taken += 1
            return true
        }
        return isFree ? Place(self) : nil
    }

    /// Waits for a place.
    ///
    /// - Parameter timeouts: The limits of the request: its pool limit or, without one, its idle limit for the time in
    ///   which no download has written.
    /// - Throws: `.timedOut(.pool)`, or `.cancelled` if the task is cancelled.
    func next(_ timeouts: Timeouts) async throws(RequestError) -> Place {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let watch = Task { await self.watch(number, timeouts) }
        defer { watch.cancel() }
        let result = await withTaskCancellationHandler {
            await withResumption { resumption in
                let isFree = state.withLock { state in
                    guard state.taken >= limit else {
                        state.taken += 1
                        return true
                    }
                    state.waiting[number] = resumption
                    state.order.append(number)
                    waitingCount.add(1, ordering: .relaxed)
                    return false
                }
                if isFree { resumption.resume(returning: .success(())) }
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
    private func watch(_ number: Int, _ timeouts: Timeouts) async {
        guard let limit = timeouts.pool ?? timeouts.idle else { return }
        let start = now()
        while true {
            let since = timeouts.pool == nil ? max(start, lastActivity.load(ordering: .relaxed)) : start
            guard case let rest = since + limit.nanoseconds - now(), rest > 0 else { break }
            guard (try? await sleep(.nanoseconds(rest))) != nil else { return }
        }
        let name = timeouts.pool == nil ? "idle" : "pool"
        let detail =
            "no download ended or wrote to its file for \(limit), the \(name) limit; the process may have files of "
            + "\(self.limit) downloads open"
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

    private func progressed() {
        if waitingCount.load(ordering: .relaxed) > 0 { lastActivity.store(now(), ordering: .relaxed) }
    }

    private func left() {
        let next = state.withLock { state in
            guard let next = state.popFirst() else {
                state.taken -= 1
                return nil as Resumption<Result<Void, RequestError>>?
            }
            return next
        }
        guard let next else { return }
        waitingCount.subtract(1, ordering: .relaxed)
        lastActivity.store(now(), ordering: .relaxed)
        next.resume(returning: .success(()))
    }
}
