import FoundationEssentials

/// Fetches the parts of a file at the same time, and writes them into one partial file.
///
/// ``RangePlan`` makes the decisions. This value carries them out, in the task that awaits the download and its child
/// tasks: one for each part, and one that reports the progress and stores the state. Its calls block, so they never run
/// on the event loop.
struct ParallelDownload: Sendable {
    let session: Session
    /// The requests for the file, of which all but the first are for mirrors.
    let sources: [HTTPRequest]
    let count: Int
    let checksum: DownloadChecksum?
    let interceptor: (any RequestInterceptor)?
    let file: OpenFile
    /// The path of the partial file.
    let path: String
    let sidecar: ResumeSidecar
    let progress: (@Sendable (TransferProgress) -> Void)?

    private let state = Locked(State())

    private struct State {
        var plan: RangePlan?
        /// The first response, which may state the checksum.
        var response: HTTPResponse?
        /// Whether the partial file was changed.
        var wasTouched = false
        /// The time of the last report, in nanoseconds of the monotonic clock.
        var reported: Int64 = 0
    }

    /// A response whose body was not read yet, and the position in the file at which the body ends.
    private typealias Body = (task: DataStreamTask, end: Int64)

    /// The maximum number of times that the download starts over because the file has changed.
    private static let restartLimit = 3
    /// The time between two stored states in nanoseconds; storing waits for the disk.
    private static let savingInterval: Int64 = 1_000_000_000

    /// The state of the parts, or `nil` if no part was requested.
    var plan: RangePlan? { state.withLock { $0.plan } }
    var wasTouched: Bool { state.withLock { $0.wasTouched } }

    private var urls: [String] { sources.map { ResumeData.withoutUserInfo($0.url).absoluteString } }

    // MARK: The whole file

    /// Fetches all parts, and continues the partial file of an earlier download if its state fits.
    func fetch(fileSize: Int64) async throws(RequestError) {
        let left = sidecar.contents().flatMap { RangePlan(decoding: $0, urls: urls, fileSize: fileSize) }
        state.withLock { $0.plan = left }
        var restarts = 0
        while let error = await fetchParts(plan == nil ? try await begin() : nil) {
            guard error.kind == .download(.changedOnServer) else { throw error }
            sidecar.remove()
            state.withLock { ($0.plan, $0.response) = (nil, nil) }
            restarts += 1
            guard restarts <= Self.restartLimit else { throw error }
        }
    }

    /// Requests the file from its beginning, from the first source that responds, and prepares the partial file.
    private func begin() async throws(RequestError) -> Body {
        var (source, hasRange) = (0, true)
        while true {
            do throws(RequestError) {
                let (task, response) = try await open(source, hasRange ? ["Range": "bytes=0-"] : [:])
                let plan = try RangePlan.begun(by: response, to: urls[source], hasRange: hasRange, count: count)
                hasRange = false
                guard let plan else { continue }
                _ = try checksum?.expected(for: response)
                state.withLock { $0.wasTouched = true }
                // With this order, the sidecar never describes bytes that are not in the file.
                sidecar.remove()
                try write { () throws(SystemError) in
                    try file.truncate(to: 0)
                    if plan.entityTag != nil, let total = plan.total { try file.truncate(to: total) }
                }
                state.withLock { ($0.plan, $0.response) = (plan, response) }
                return (task, plan.total ?? .max)
            } catch {
                (source, hasRange) = (source + 1, true)
                if case .download = error.kind { throw error }
                guard source < sources.count, !error.isCancellation else { throw error }
            }
        }
    }

    /// Fetches the missing parts; the first error ends all of them, and is returned.
    private func fetchParts(_ first: Body?) async -> RequestError? {
        let changes = Broadcast<Void>(replaysLatest: false)
        let stream = changes.stream(bufferingPolicy: .latest)
        async let reports: Void = report(stream)
        let failure = await withTaskGroup(of: RequestError?.self) { group in
            for index in plan?.parts.indices ?? 0..<0 {
                group.addTask { await fetchPart(index, index == 0 ? first : nil, changes) }
            }
            var failure: RequestError?
            for await case let error? in group where failure == nil {
                failure = error
                group.cancelAll()
            }
            return failure
        }
        changes.finish()
        await reports
        return failure
    }

    /// Checks the checksum of the complete file.
    ///
    /// The file is read again, because its parts arrive in any order, and an earlier process may have written some of
    /// them.
    func verify() throws(RequestError) {
        guard let expected = try checksum?.expected(for: state.withLock { $0.response }) else { return }
        let (digest, size) = (RunningDigest(expected.algorithm), plan?.completed ?? 0)
        while digest.count < size {
            if Task.isCancelled { throw RequestError(.cancelled) }
            try digest.read(file, upTo: min(size, digest.count + 16 << 20), path: path)
        }
        try expected.check(digest)
    }

    // MARK: A part

    /// Fetches a part, and continues after each interruption where the part stopped; returns the error of a failure.
    private func fetchPart(_ index: Int, _ first: Body?, _ changes: Broadcast<Void>) async -> RequestError? {
        var (first, source, failures, resumption) = (first, index, 0, AutomaticResumption())
        while let plan, case let part = plan.parts[index], part.position < part.end {
            do throws(RequestError) {
                let body = if let first { first } else { try await request(part, of: plan, from: source) }
                first = nil
                try await receive(body, part, index, changes)
                if plan.total == nil { return nil }
                // A server may send less than the requested range (RFC 9110 §15.3.7).
                let position = position(of: index)
                if position < part.end, position - part.position < AutomaticResumption.minimumProgress {
                    throw RequestError(.invalidResponse(.truncated))
                }
            } catch {
                first = nil
                let fetched = position(of: index) - part.position
                let hasProgress = fetched >= AutomaticResumption.minimumProgress
                (source, failures) = (source + 1, hasProgress ? 1 : failures + 1)
                if case .download = error.kind { return error }
                guard plan.entityTag != nil, !error.isCancellation else { return error }
                // Other sources may work, and so may the one that worked before.
                if sources.count > 1, failures <= sources.count { continue }
                let delay = resumption.interrupted(
                    by: Self.busy.contains(error.kind) ? .connection(.refused) : error.kind, gained: fetched,
                    canResume: true, spread: .random(in: 0...1))
                guard let delay, (try? await session.sleep(delay)) != nil else { return error }
            }
        }
        return nil
    }

    /// The failures if there are as many connections as the server or the session allows.
    private static let busy: Set<RequestError.Kind> = [
        .validation(.unacceptableStatusCode(429)), .validation(.unacceptableStatusCode(503)), .timedOut(.pool),
        .timedOut(.queue),
    ]

    private func position(of index: Int) -> Int64 { plan?.parts[index].position ?? 0 }

    /// Requests the missing bytes of a part.
    private func request(
        _ part: RangePlan.Part, of plan: RangePlan, from source: Int
    ) async throws(RequestError) -> Body {
        let source = source % sources.count
        let isMirror = urls[source] != plan.url
        let (task, response) = try await open(
            source, ["Range": "bytes=\(part.position)-\(part.end - 1)", "If-Range": isMirror ? nil : plan.entityTag])
        try plan.check(response, at: part.position, isMirror: isMirror)
        _ = try checksum?.expected(for: response)
        state.withLock { $0.response = $0.response ?? response }
        return (task, part.end)
    }

    /// Sends a request over a connection of its own, and returns its task and the head of the response.
    private func open(
        _ source: Int, _ fields: [String: String?]
    ) async throws(RequestError) -> (DataStreamTask, HTTPResponse) {
        var request = sources[source]
        // The streams of an HTTP/2 connection would share one connection.
        request.httpVersion = .http1_1
        request.headers.update(name: "Accept-Encoding", value: "identity")
        request.keepsUnacceptedCodings = true
        for name in ["Range", "If-Range"] { request.headers[name] = fields[name] ?? nil }
        let task = session.streamRequest(request, interceptor: interceptor).validate(statusCode: [200, 206, 416])
            .streamTask()
        task.resume()
        let response = try await task.response
        return (task, response)
    }

    /// Writes a body to its place in the file.
    private func receive(
        _ body: Body, _ part: RangePlan.Part, _ index: Int, _ changes: Broadcast<Void>
    ) async throws(RequestError) {
        var position = part.position
        for try await piece in body.task.bytes {
            let rest = part.end - position
            try write { () throws(SystemError) in
                try file.write(piece.prefix(Int(clamping: rest)), at: &position)
            }
            let now = MonotonicClock.now()
            let isDue = state.withLock { state in
                state.plan?.parts[index].position = position
                guard now - state.reported >= ProgressMeter.interval else { return false }
                state.reported = now
                return true
            }
            if isDue { changes.send(()) }
            // The rest of the body belongs to other parts.
            if piece.count > rest || position == part.end && body.end > part.end { return body.task.cancel() }
        }
    }

    private func write(_ body: () throws(SystemError) -> Void) throws(RequestError) {
        do throws(SystemError) { try body() } catch { throw error.during(.cannotWriteFile(path: path)) }
    }

    // MARK: The state

    /// Reports the progress and stores the state after each change, one after the other.
    private func report(_ changes: StreamOf<Void>) async {
        var meter = ProgressMeter(completed: plan?.completed ?? 0, now: MonotonicClock.now())
        func report() {
            guard let plan else { return }
            progress?(meter.update(completed: plan.completed, total: plan.total, now: MonotonicClock.now()))
        }
        var saved = MonotonicClock.now()
        for await _ in changes {
            if MonotonicClock.now() - saved >= Self.savingInterval {
                save()
                saved = MonotonicClock.now()
            }
            report()
        }
        report()
    }

    /// Stores the state, which describes only bytes that were written to the disk before.
    ///
    /// If the state cannot be stored, a later download fetches more than necessary.
    func save() {
        guard let plan, plan.entityTag != nil, let data = try? JSONEncoder().encode(plan) else { return }
        // The size of the file does not show which parts are on the disk.
        guard (try? file.synchronize()) != nil else { return }
        try? sidecar.write(data)
    }
}
