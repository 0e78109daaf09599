package import FoundationEssentials

extension RetryPolicy {
    /// Computes the delay before another attempt.
    ///
    /// - Parameters:
    ///   - failure: The properties of the failure.
    ///   - now: The current time, to which dates in `Retry-After` are compared.
    ///   - random: A number from 0 up to, but not including, 1.
    /// - Returns: The delay, or `nil` if the request is not retried.
    func delay(after failure: RetryCase, now: Date, random: Double) -> Duration? {
        guard mayRetry(failure) else { return nil }
        let asked = failure.retryAfter.compactMap { RetryAfter.delay($0, now: now) }.max() ?? .zero
        return asked > maximumRetryAfter ? nil : max(backoff(afterRetries: failure.retryCount, random: random), asked)
    }

    private func mayRetry(_ failure: RetryCase) -> Bool {
        // A failed HTTP/2 connection is replaced only once. If the new connection fails too, the server is the cause.
        let limit = failure.kind == .connection(.http2) ? min(retryLimit, 1) : retryLimit
        guard failure.retryCount >= 0, UInt(failure.retryCount) < limit, failure.isReplayable,
            failure.methods.isSubset(of: retryableHTTPMethods)
        else { return false }
        if let statusCode = failure.statusCode, retryableHTTPStatusCodes.contains(statusCode) { return true }
        return failure.kind.map(retryableErrorKinds.contains) == true && !failure.wasTriedByTransport
    }

    /// The computed delay, which a `Retry-After` field can extend.
    private func backoff(afterRetries count: Int, random: Double) -> Duration {
        let longest = maximumDelay / .seconds(1)
        let grown = exponentialBackoffScale * Self.power(max(1, exponentialBackoffBase), count)
        // NaN must not cause a delay.
        let seconds = max(0, min(grown.isNaN ? 0 : grown, longest))
        return .seconds(jitter == .full ? seconds * min(max(0, random), 1) : seconds)
    }

    private static func power(_ base: UInt, _ exponent: Int) -> Double {
        var result = 1.0
        for _ in 0..<max(0, exponent) where result.isFinite { result *= Double(base) }
        return result
    }
}

/// The properties of a failure on which the decision about a retry depends.
struct RetryCase: Hashable, Sendable {
    /// The methods of all requests that were sent, including redirected requests.
    var methods: Set<HTTPMethod> = [.get]
    /// Whether the bodies of all these requests can be sent again.
    var isReplayable = true
    /// The number of retries so far.
    var retryCount = 0
    /// The kind of the error, if it is a `RequestError`.
    var kind: RequestError.Kind?
    /// The status code of the response, if there is one.
    var statusCode: Int?
    /// The values of the response's `Retry-After` fields.
    var retryAfter: [String] = []
    /// Whether the transport has already tried the request several times.
    var wasTriedByTransport = false
}

extension RetryCase {
    /// Collects the properties of a failed request.
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
package enum RetryAfter {
    /// Parses the delay, which is a number of seconds or a date.
    ///
    /// Returns `nil` for any other value. For a date in the past, the delay is zero.
    package static func delay(_ value: String, now: Date) -> Duration? {
        // A number that is too large becomes 68 years, which is practically no limit.
        if let seconds = CacheControl.seconds(value.trimmed) { return .seconds(seconds) }
        guard let date = HTTPDate.parse(value, now: now) else { return nil }
        return .seconds(min(max(0, date.timeIntervalSince(now)), Double(CacheControl.anyAge)))
    }
}
