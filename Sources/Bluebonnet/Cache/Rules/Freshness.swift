import FoundationEssentials

/// How long a response is fresh, and how old it is (RFC 9111 §4.2).
struct Freshness: Equatable, Sendable {
    /// For how many seconds after it was made the response is fresh.
    let lifetime: Double
    /// How old it was when it came in, in seconds.
    let initialAge: Double
    /// When it came in.
    let responseTime: Date

    /// Finds out from a response's fields.
    ///
    /// - Parameters:
    ///   - statusCode: The response's, which decides whether a lifetime may be guessed.
    ///   - headers: The response's fields.
    ///   - control: The directives among them.
    ///   - requestTime: When the request was sent.
    ///   - responseTime: When the response was complete.
    init(statusCode: Int, headers: HTTPHeaders, control: CacheControl, requestTime: Date, responseTime: Date) {
        let date = headers.values(for: "Date").first.flatMap { HTTPDate.parse($0, now: responseTime) }
        self.responseTime = responseTime
        initialAge = Self.initialAge(
            date: date, age: Self.age(in: headers), requestTime: requestTime, responseTime: responseTime)
        if let maxAge = control.maxAge {
            lifetime = Double(maxAge)
        } else if let expires = headers.values(for: "Expires").first {
            // What is no date is in the past (§5.3).
            let end = HTTPDate.parse(expires, now: responseTime)
            lifetime = end.map { max(0, $0.timeIntervalSince(date ?? responseTime)) } ?? 0
        } else if control.isPublic || Storability.isHeuristicallyCacheable(statusCode),
            let modified = headers.values(for: "Last-Modified").first.flatMap({ HTTPDate.parse($0, now: responseTime) })
        {
            let unchanged = (date ?? responseTime).timeIntervalSince(modified)
            lifetime = min(max(0, unchanged / 10), Self.longestGuess)
        } else {
            lifetime = 0
        }
    }

    /// A guess is a tenth of the time for which nothing has changed (§4.2.2), and no more than a day.
    static let longestGuess = 86_400.0

    /// How old the response is (§4.2.3); a clock that was set back makes it no younger than it was.
    func age(at now: Date) -> Double { initialAge + max(0, now.timeIntervalSince(responseTime)) }

    /// For how many seconds the response has been stale; below zero, it is fresh.
    func staleness(at now: Date) -> Double { age(at: now) - lifetime }

    /// The `Age` field's seconds; the first value counts, and what is none does not (§5.1).
    private static func age(in headers: HTTPHeaders) -> Int {
        let value = headers.values(for: "Age").first?.split(separator: ",", omittingEmptySubsequences: false).first
        return CacheControl.seconds(value?.trimmed) ?? 0
    }

    private static func initialAge(date: Date?, age: Int, requestTime: Date, responseTime: Date) -> Double {
        let apparent = date.map { max(0, responseTime.timeIntervalSince($0)) } ?? 0
        let delay = max(0, responseTime.timeIntervalSince(requestTime))
        return max(apparent, Double(age) + delay)
    }
}
