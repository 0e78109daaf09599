import FoundationEssentials

/// The settings of a request from chained calls.
struct RequestSetup {
    var validators: [ResponseValidator] = []
    /// The interceptors of the request, which run in this order after the interceptors of the session.
    var interceptors: [any RequestInterceptor] = []
    /// The redirect handler of the request, which replaces the handler of the session.
    var redirectHandler: (any RedirectHandler)?
    /// The cache handler of the request, which replaces the handler of the session.
    var cachedResponseHandler: (any CachedResponseHandler)?
    /// The parts that each attempt adds to its request.
    var additions = RequestAdditions()
    /// The handlers of the head, which run in this order before any of the body is received.
    var headHandlers: [@Sendable (HTTPResponse) async -> ResponseDisposition] = []
}

/// The parts that are added to the HTTP request of each attempt.
struct RequestAdditions {
    /// The credential for attempts whose request has no credential.
    var credential: Credential?
    /// The values that each attempt carries.
    var tags = RequestTags()

    /// The speed limits that replace the speed limits of each attempt's request.
    var speedLimits = SpeedLimits()

    var isEmpty: Bool { credential == nil && tags.isEmpty && speedLimits.isEmpty }

    /// Adds the parts to a request.
    func complete(_ request: inout HTTPRequest) {
        if request.credential == nil, let credential { request.credential = credential }
        if !speedLimits.isEmpty { request.speedLimits = speedLimits.filled(from: request.speedLimits) }
        if !tags.isEmpty { request.tags.add(tags) }
    }
}

/// The record of a request, with its attempts and the progress of its bodies.
struct RequestHistory {
    private(set) var requests = TinyArray<HTTPRequest>()
    /// The requests before their adapters, each with the number of requests that were sent before.
    private var unadapted: [(position: Int, request: HTTPRequest)] = []
    private(set) var attempts = 0
    /// The number of times that the request was rejected because of an interceptor's credential.
    private var credentialRefusals = 0
    /// The result of the latest attempt.
    private(set) var last: CompletedAttempt?
    /// The latest head that was accepted.
    private(set) var response: HTTPResponse?
    /// The latest informational response.
    private(set) var informational: HTTPResponse?
    private(set) var progress: TransferProgress?
    private(set) var uploadProgress: TransferProgress?
    /// The sequences that observers have requested.
    private(set) var sequences = RequestSequences()
    /// The number of bytes that earlier attempts have received, and the total size if it is known.
    private var bytesBefore: (count: Int64, total: Int64?)?
    /// Measures the speed of the response body from the start of the exchange.
    private var downloadMeter = ProgressMeter(now: 0)
    private var uploadMeter = ProgressMeter(now: 0)
    /// The tasks that wait for a head.
    private var headWaiters: [(id: Int, continuation: Resumption<Void>)] = []
    private var lastHeadWaiter = 0

    mutating func sent(_ request: HTTPRequest, isRedirect: Bool, now: Int64) {
        requests.append(request)
        if !isRedirect { attempts += 1 }
        downloadMeter = ProgressMeter(now: now)
        uploadMeter = ProgressMeter(now: now)
    }

    /// The request of an attempt could not be created.
    mutating func notCreated() { attempts += 1 }

    /// Counts a rejection because of an interceptor's credential; returns the number of earlier ones.
    mutating func credentialRefused() -> Int {
        defer { credentialRefusals += 1 }
        return credentialRefusals
    }

    mutating func willAdapt(_ request: HTTPRequest) { unadapted.append((requests.array.count, request)) }

    /// The request of each attempt, before and after its adapters.
    var prepared: [HTTPRequest] {
        let sent = requests.array
        return (0...sent.count).flatMap { position in
            unadapted.filter { $0.position == position }.map(\.request)
                + sent.dropFirst(position).prefix(1).filter { !$0.isRedirect }
        }
    }

    /// Records the result of an attempt, and returns the previous result, which must be released after the lock.
    mutating func came(to attempt: CompletedAttempt) -> CompletedAttempt? {
        exchange(&last, with: attempt)
    }

    /// Removes and returns the result of an attempt, which must be released after the lock.
    mutating func forgetAttempt() -> CompletedAttempt? {
        (response, bytesBefore, progress, uploadProgress) = (nil, nil, nil, nil)
        return exchange(&last, with: nil)
    }

    // MARK: Progress

    mutating func bytesSent(_ sent: Int64, of expected: Int64?, now: Int64) -> TransferProgress {
        let progress = uploadMeter.update(completed: sent, total: expected, now: now)
        uploadProgress = progress
        return progress
    }

    mutating func bytesReceived(
        _ received: Int64, of expected: Int64?, fraction: Double?, now: Int64
    ) -> TransferProgress {
        var progress = downloadMeter.update(
            completed: received + (bytesBefore?.count ?? 0), total: bytesBefore.map(\.total) ?? expected, now: now)
        progress.codedFraction = fraction
        self.progress = progress
        return progress
    }

    /// Records that the body continues after bytes that are already in the file.
    mutating func bodyResumed(at position: Int64, of total: Int64?, now: Int64) {
        bytesBefore = (position, total)
        downloadMeter = ProgressMeter(completed: position, now: now)
    }

    /// Records the progress of a complete body, and returns the sequence to update.
    mutating func bodyCompleted(_ progress: TransferProgress) -> Broadcast<TransferProgress>? {
        self.progress = progress
        return sequences.downloadProgress
    }

    /// Records the progress of a complete file.
    ///
    /// The method returns the update to send, or `nil` if the progress was already complete or there are no observers.
    mutating func fileCompleted(_ size: Int64, now: Int64) -> (TransferProgress, Broadcast<TransferProgress>)? {
        if let progress, progress.completed == size, progress.total == size { return nil }
        let progress = downloadMeter.update(completed: size, total: size, now: now)
        return bodyCompleted(progress).map { (progress, $0) }
    }

    // MARK: Sequences

    /// Returns the values of a sequence, which begin with the latest value.
    mutating func broadcast<Value>(
        _ kept: WritableKeyPath<RequestSequences, Broadcast<Value>?>, latest: Value?
    ) -> Broadcast<Value> {
        if let updates = sequences[keyPath: kept] { return updates }
        let updates = latest.map { Broadcast(latest: $0) } ?? Broadcast(replaysLatest: true)
        sequences[keyPath: kept] = updates
        return updates
    }

    // MARK: Heads

    mutating func accepted(_ response: HTTPResponse) { self.response = response }

    /// Records an informational response, and returns the sequence to update.
    mutating func informed(by response: HTTPResponse) -> Broadcast<HTTPResponse>? {
        informational = response
        return sequences.informational
    }

    /// Returns a number for a task that is about to wait for the head.
    mutating func nextHeadWaiter() -> Int {
        lastHeadWaiter += 1
        return lastHeadWaiter
    }

    mutating func waits(_ continuation: Resumption<Void>, as id: Int) {
        headWaiters.append((id, continuation))
    }

    mutating func takeHeadWaiter(_ id: Int) -> Resumption<Void>? {
        guard let index = headWaiters.firstIndex(where: { $0.id == id }) else { return nil }
        return headWaiters.remove(at: index).continuation
    }

    mutating func takeHeadWaiters() -> [Resumption<Void>] {
        guard !headWaiters.isEmpty else { return [] }
        defer { headWaiters.removeAll() }
        return headWaiters.map(\.continuation)
    }
}

/// The sequences of a request that observers have requested.
struct RequestSequences {
    var downloadProgress: Broadcast<TransferProgress>?
    var uploadProgress: Broadcast<TransferProgress>?
    var requests: Broadcast<HTTPRequest>?
    var informational: Broadcast<HTTPResponse>?
    var responses: Broadcast<HTTPResponse>?

    /// Ends all sequences.
    func finish() {
        downloadProgress?.finish()
        uploadProgress?.finish()
        requests?.finish()
        informational?.finish()
        responses?.finish()
    }
}
