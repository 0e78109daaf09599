import FoundationEssentials

/// The directives in the `Cache-Control` fields of a request or a response (RFC 9111 §5.2).
///
/// Parsing is lenient, and prefers validation over the use of a stale response. Unknown directives are skipped. If a
/// directive is repeated, the first value applies (§4.2.1). A lifetime that is not a number counts as 0, so the
/// response is stale. In text that cannot be parsed, such as `no-store;`, the directives that restrict the cache apply.
struct CacheControl: Equatable, Sendable {
    var noStore = false
    /// The `no-cache` directive; also set if it has field names, because a response without these fields is useless
    /// (§5.2.2.4).
    var noCache = false
    var maxAge: Int?
    var mustRevalidate = false
    var mustUnderstand = false
    var isPublic = false
    /// The `private` directive, with or without field names; it excludes only shared caches (§5.2.2.7).
    var isPrivate = false
    /// The `immutable` directive (RFC 8246).
    var isImmutable = false
    /// The number of seconds for which a stale response may be used if the server fails (RFC 5861 §4).
    var staleIfError: Int?
    /// The number of seconds for which a stale response may be used while it is validated (RFC 5861 §3).
    var staleWhileRevalidate: Int?
    /// The number of seconds for which the request accepts a stale response; ``anyAge`` for a directive without a
    /// number.
    var maxStale: Int?
    var minFresh: Int?
    var onlyIfCached = false

    /// Whether a response must not remain in a cache (§5.2.2.3, §5.2.2.5).
    var forbidsStoring: Bool { noStore && !mustUnderstand }

    /// The value for an unlimited age: 2^31 seconds, which are 68 years, as §1.2.2 recommends.
    static let anyAge = 1 << 31

    /// Creates an empty set of directives.
    init() {}

    /// Parses the joined values of the fields; `nil` means that there are no fields.
    init(_ text: String?) {
        guard let text else { return }
        var seen: Set<String> = []
        var rest = text.utf8[...]
        while let element = rest.takeElement() {
            let parts = element.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let first = parts.first else { continue }
            let name = first.trimmed.lowercased()
            // White space before `=` makes the argument invalid.
            let argument = first.utf8.count == name.utf8.count ? parts.dropFirst().first : ""
            if !Self.isWellFormed(name, argument) { noteRestrictions(in: element) }
            guard !name.isEmpty, seen.insert(name).inserted else { continue }
            note(name, argument: argument.map(Self.unquoted))
        }
    }

    /// Whether a directive is a token with or without an argument, which is a token or a quoted string (§5.2).
    private static func isWellFormed(_ name: String, _ argument: Substring?) -> Bool {
        guard name.utf8.allSatisfy(FieldSyntax.isTokenByte) else { return false }
        guard let argument else { return true }
        let value = unquoted(argument)
        return value.utf8.count < argument.utf8.count
            ? !value.utf8.contains(0x22) || value.utf8.contains(0x5c)
            : !value.isEmpty && value.utf8.allSatisfy(FieldSyntax.isTokenByte)
    }

    private mutating func noteRestrictions(in text: Substring) {
        for word in text.utf8.split(whereSeparator: { !FieldSyntax.isTokenByte($0) }) {
            let name = Substring(word).lowercased()
            if Self.restrictions.contains(name) { note(name, argument: nil) }
        }
    }

    private static let restrictions: Set<String> = ["no-store", "no-cache", "must-revalidate", "private"]

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
        case "stale-while-revalidate": staleWhileRevalidate = Self.seconds(argument)
        case "max-stale": maxStale = argument == nil ? Self.anyAge : Self.seconds(argument)
        case "min-fresh": minFresh = Self.seconds(argument) ?? Self.anyAge
        case "only-if-cached": onlyIfCached = true
        default: break
        }
    }

    /// Parses delta-seconds (§1.2.2); returns ``anyAge`` for a number that is too large, and `nil` for invalid text.
    static func seconds(_ text: (some StringProtocol)?) -> Int? {
        guard let text, !text.isEmpty, text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
        return min(Int(text) ?? anyAge, anyAge)
    }

    /// Returns the argument without surrounding quotes.
    private static func unquoted(_ text: Substring) -> Substring {
        guard text.utf8.count >= 2, text.utf8.first == 0x22, text.utf8.last == 0x22 else { return text }
        return text.dropFirst().dropLast()
    }
}

/// The lifetime and the age of a response (RFC 9111 §4.2).
struct Freshness: Equatable, Sendable {
    /// The seconds after its creation for which the response is fresh.
    let lifetime: Double
    /// The age of the response in seconds when it was received.
    let initialAge: Double
    /// The time at which the response was received.
    let responseTime: Date

    /// Determines the freshness from a response's fields.
    ///
    /// - Parameters:
    ///   - statusCode: The status code of the response; it determines whether a lifetime may be estimated.
    ///   - headers: The header fields of the response.
    ///   - control: The directives in these fields.
    ///   - requestTime: The time at which the request was sent.
    ///   - responseTime: The time at which the response was complete.
    init(statusCode: Int, headers: HTTPHeaders, control: CacheControl, requestTime: Date, responseTime: Date) {
        let date = headers.values(for: "Date").first.flatMap { HTTPDate.parse($0, now: responseTime) }
        self.responseTime = responseTime
        let apparentAge = date.map { max(0, responseTime.timeIntervalSince($0)) } ?? 0
        let delay = max(0, responseTime.timeIntervalSince(requestTime))
        initialAge = max(apparentAge, Double(Self.age(in: headers)) + delay)
        if let maxAge = control.maxAge {
            lifetime = Double(maxAge)
        } else if let expires = headers.values(for: "Expires").first {
            // An invalid date counts as a date in the past (§5.3).
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

    /// The maximum heuristic lifetime: one day, in seconds.
    ///
    /// The heuristic lifetime is a tenth of the time since the last change (§4.2.2).
    static let maximumHeuristicLifetime = 86_400.0

    /// Returns the age of the response in seconds (§4.2.3).
    ///
    /// The age is never less than the initial age, even if the clock is set back.
    func age(at now: Date) -> Double { initialAge + max(0, now.timeIntervalSince(responseTime)) }

    /// Returns the seconds since the response became stale; negative if it is fresh.
    func staleness(at now: Date) -> Double { age(at: now) - lifetime }

    /// Returns the seconds in the `Age` field.
    ///
    /// If the field is repeated, the first value applies. Parameters are ignored. An invalid value counts as 0 (§5.1).
    private static func age(in headers: HTTPHeaders) -> Int {
        let value = headers.values(for: "Age").first?.prefix { $0 != "," && $0 != ";" }
        return CacheControl.seconds(value?.trimmed) ?? 0
    }
}
