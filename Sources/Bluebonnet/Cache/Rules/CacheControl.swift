import FoundationEssentials

/// The directives of `Cache-Control` fields, of a request or a response (RFC 9111 §5.2).
///
/// Read leniently, and to the safe side: an unknown directive is skipped, the first of two alike counts (§4.2.1), and a
/// lifetime that is not a number is 0, so that the response is stale.
struct CacheControl: Equatable, Sendable {
    var noStore = false
    /// Also in its qualified form, which names fields: those would be of no use without the others (§5.2.2.4).
    var noCache = false
    var maxAge: Int?
    var mustRevalidate = false
    var mustUnderstand = false
    var isPublic = false
    /// With or without names of fields; it keeps shared caches away, and this is none (§5.2.2.7).
    var isPrivate = false
    /// RFC 8246.
    var isImmutable = false
    /// For how many seconds after its end a response may be used when the server cannot answer (RFC 5861 §4).
    var staleIfError: Int?
    /// How many seconds after its end a response is good enough for the request; ``anyAge`` without a number.
    var maxStale: Int?
    var minFresh: Int?
    var onlyIfCached = false

    /// Stands for "however old": the largest number that §1.2.2 asks for, 68 years.
    static let anyAge = 1 << 31

    /// No directives.
    init() {}

    /// Reads the joined values of the fields; `nil` when there is none.
    init(_ text: String?) {
        guard let text else { return }
        var seen: Set<String> = []
        var rest = text.utf8[...]
        while let element = rest.takeElement() {
            let parts = element.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let first = parts.first else { continue }
            let name = first.trimmed.lowercased()
            guard !name.isEmpty, seen.insert(name).inserted else { continue }
            note(name, argument: parts.count > 1 ? Self.unquoted(parts[1]) : nil)
        }
    }

    private mutating func note(_ name: String, argument: Substring?) {
        switch name {
        case "no-store": noStore = true
        case "no-cache": noCache = true
        case "max-age": maxAge = Self.seconds(argument) ?? 0
        case "must-revalidate": mustRevalidate = true
        case "must-understand": mustUnderstand = true
        case "public": isPublic = true
        case "private": isPrivate = true
        case "immutable": isImmutable = true
        case "stale-if-error": staleIfError = Self.seconds(argument)
        case "max-stale": maxStale = argument == nil ? Self.anyAge : Self.seconds(argument)
        case "min-fresh": minFresh = Self.seconds(argument) ?? Self.anyAge
        case "only-if-cached": onlyIfCached = true
        default: break
        }
    }

    /// Reads delta-seconds (§1.2.2); too large a number becomes ``anyAge``, and anything else `nil`.
    static func seconds(_ text: (some StringProtocol)?) -> Int? {
        guard let text, !text.isEmpty, text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
        return min(Int(text) ?? anyAge, anyAge)
    }

    /// The argument without its quotes, if it has any.
    private static func unquoted(_ text: Substring) -> Substring {
        guard text.utf8.count >= 2, text.utf8.first == 0x22, text.utf8.last == 0x22 else { return text }
        return text.dropFirst().dropLast()
    }
}

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
            // An invalid date is in the past (§5.3).
            let end = HTTPDate.parse(expires, now: responseTime)
            lifetime = end.map { max(0, $0.timeIntervalSince(date ?? responseTime)) } ?? 0
        } else if control.isPublic || Storability.isHeuristicallyCacheable(statusCode),
            let modified = headers.values(for: "Last-Modified").first.flatMap({ HTTPDate.parse($0, now: responseTime) })
        {
            let unchanged = (date ?? responseTime).timeIntervalSince(modified)
            lifetime = min(max(0, unchanged / 10), Self.maximumHeuristicLifetime)
        } else {
            lifetime = 0
        }
    }

    /// A guess is a tenth of the time for which nothing has changed (§4.2.2), and no more than a day.
    static let maximumHeuristicLifetime = 86_400.0

    /// How old the response is (§4.2.3); a clock that was set back makes it no younger than it was.
    func age(at now: Date) -> Double { initialAge + max(0, now.timeIntervalSince(responseTime)) }

    /// For how many seconds the response has been stale; below zero, it is fresh.
    func staleness(at now: Date) -> Double { age(at: now) - lifetime }

    /// The seconds of the `Age` field: the first value counts, and an invalid one is 0 (§5.1).
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
