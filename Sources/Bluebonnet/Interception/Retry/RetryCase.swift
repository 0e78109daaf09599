import FoundationEssentials

extension RetryPolicy {
    /// Decides how long to wait before another attempt, from the failure, the time and chance alone.
    ///
    /// - Parameters:
    ///   - failure: The failure.
    ///   - now: The present, for dates that the server names.
    ///   - random: A number from 0 up to 1.
    /// - Returns: The delay; `nil` when the request is not tried again.
    func delay(after failure: RetryCase, now: Date, random: Double) -> Duration? {
        guard mayRetry(failure) else { return nil }
        let asked = failure.retryAfter.compactMap { RetryAfter.delay($0, now: now) }.max() ?? .zero
        return asked > maximumRetryAfter ? nil : max(backoff(afterRetries: failure.retryCount, random: random), asked)
    }

    private func mayRetry(_ failure: RetryCase) -> Bool {
        // An HTTP/2 connection that failed is replaced once; if the next fails, too, it is the server that does.
        let limit = failure.kind == .connection(.http2) ? min(retryLimit, 1) : retryLimit
        guard failure.retryCount >= 0, UInt(failure.retryCount) < limit, failure.isReplayable,
            failure.methods.isSubset(of: retryableHTTPMethods)
        else { return false }
        if let statusCode = failure.statusCode, retryableHTTPStatusCodes.contains(statusCode) { return true }
        return failure.kind.map(retryableErrorKinds.contains) == true && !failure.wasTriedByTransport
    }

    /// How long to wait when the server asks for nothing.
    private func backoff(afterRetries count: Int, random: Double) -> Duration {
        let longest = maximumDelay / .seconds(1)
        let grown = exponentialBackoffScale * Self.power(max(1, exponentialBackoffBase), count)
        // Not a number is no reason to wait.
        let seconds = max(0, min(grown.isNaN ? 0 : grown, longest))
        return .seconds(jitter == .full ? seconds * min(max(0, random), 1) : seconds)
    }

    private static func power(_ base: UInt, _ exponent: Int) -> Double {
        var result = 1.0
        for _ in 0..<max(0, exponent) where result.isFinite { result *= Double(base) }
        return result
    }
}

/// The properties of a failure that a retry depends on.
struct RetryCase: Hashable, Sendable {
    /// The methods of all the requests that were sent for it, redirects included.
    var methods: Set<HTTPMethod> = [.get]
    /// Whether the bodies of all of them can be sent again.
    var isReplayable = true
    /// How often the request was tried again.
    var retryCount = 0
    /// The reason of the failure, if it is one of Bluebonnet's.
    var kind: RequestError.Kind?
    /// The status code of the response, if there was one.
    var statusCode: Int?
    /// The values of the response's `Retry-After` fields.
    var retryAfter: [String] = []
    /// Whether the transport has tried it several times already.
    var wasTriedByTransport = false
}

extension RetryCase {
    /// Collects the properties of a request's failure.
    init(_ request: any Request, _ error: any Error) {
        let requests = request.requests
        let error = error as? RequestError
        let response = error?.response ?? request.response
        methods = Set(requests.map(\.method))
        isReplayable = requests.allSatisfy { $0.body?.isReplayable ?? true }
        retryCount = request.retryCount
        kind = error?.kind
        statusCode = response?.statusCode
        retryAfter = response?.headers.values(for: "Retry-After") ?? []
        wasTriedByTransport = error?.wasTriedByTransport ?? false
    }
}

/// Reads the values of `Retry-After` fields (RFC 9110 §10.2.3).
enum RetryAfter {
    /// Returns how long the server wants to be left alone: a number of seconds, or the time until a date.
    ///
    /// `nil` when the value is neither. A date in the past is no time at all.
    static func delay(_ value: String, now: Date) -> Duration? {
        // Too large a number counts as 68 years, which is no limit in practice.
        if let seconds = CacheControl.seconds(value.trimmed) { return .seconds(seconds) }
        guard let date = HTTPDate.parse(value, now: now) else { return nil }
        return .seconds(min(max(0, date.timeIntervalSince(now)), Double(CacheControl.anyAge)))
    }
}
