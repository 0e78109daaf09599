import FoundationEssentials

/// Decides how to ask for the rest of a representation, and what to do with the answer.
///
/// A pure value: the facts about the part go in at the beginning, responses later.
struct ResumeDecision: Hashable, Sendable {
    /// How many bytes there are.
    let size: Int64
    /// The state of the resource that they are of.
    let validator: ResumeValidator
    /// How many bytes the whole has, if that is known.
    let total: Int64?

    /// Creates the decision; nil when there is nothing that could be gone on from.
    init?(size: Int64, validator: ResumeValidator, total: Int64?) {
        guard size > 0, size <= total ?? .max else { return nil }
        self.size = size
        self.validator = validator
        self.total = total
    }

    /// The first byte that is asked for.
    ///
    /// Where nothing is missing, the last byte is fetched again: that it is still there, and still of the same
    /// representation, makes the part the whole, and the answer is a response like any other.
    var start: Int64 { size == total ? size - 1 : size }

    /// The fields that ask for the rest, or for all of it if it has changed (RFC 9110 §13.1.5, §14.2).
    ///
    /// Ranges are counted in the coded form where there is a content coding, so none is asked for.
    var fields: HTTPHeaders {
        ["Range": "bytes=\(start)-", "If-Range": validator.fieldValue, "Accept-Encoding": "identity"]
    }

    /// The meaning of an answer.
    enum ResponseMeaning: Hashable, Sendable {
        /// The body continues at a position in the part, which is truncated there.
        ///
        /// `end` is where it will end, `total` how many bytes the whole has, if that is known.
        case append(at: Int64, end: Int64, total: Int64?)
        /// The body is the whole representation: the part is of another one, or the server sends no ranges.
        case whole
        /// Nothing is missing: the part is the whole.
        case complete
        /// The answer is of no use: all of it must be asked for.
        case startOver
        /// Neither the rest nor the whole; the part stays.
        case refused(statusCode: Int)
    }

    /// Returns the meaning of the response to a request with these fields.
    func answer(_ response: HTTPResponse) -> ResponseMeaning {
        switch response.statusCode {
        case 200: .whole
        case 206: partialContent(response)
        case 416: rangeNotSatisfiable(response)
        case let code: .refused(statusCode: code)
        }
    }

    private func partialContent(_ response: HTTPResponse) -> ResponseMeaning {
        guard !validator.isContradicted(by: response), response.head.isUncoded,
            let range = response.headers["Content-Range"].flatMap({ ContentRange($0) }),
            case .bytes(let first, let last, let total) = range
        else { return .startOver }
        guard first <= start, total == nil || self.total == nil || total == self.total else { return .startOver }
        let known = total ?? self.total
        // An answer that gives nothing new could be asked for again and again.
        guard last >= start, last < known ?? .max else { return .startOver }
        return .append(at: first, end: last + 1, total: known)
    }

    private func rangeNotSatisfiable(_ response: HTTPResponse) -> ResponseMeaning {
        guard total == nil || total == size, !validator.isContradicted(by: response),
            response.headers["Content-Range"].flatMap({ ContentRange($0) }) == .unsatisfied(total: size)
        else { return .startOver }
        return .complete
    }
}

/// Tells one state of a resource from every other, byte for byte (RFC 9110 §8.8.1).
enum ResumeValidator: Hashable, Sendable {
    /// A strong entity tag, with its quotes.
    case entityTag(String)
    /// A date as the server wrote it.
    case lastModified(String)

    /// How long before the response the last change must have been for its date to tell the states apart.
    ///
    /// Two changes within one second have the same date. RFC 9110 §8.8.2.2 wants a second between them if both dates are
    /// of the same clock, "enough" otherwise; a client cannot know, so this is what RFC 7232 had for enough.
    static let margin: TimeInterval = 60

    /// Takes the strong validator out of a response; nil when there is none.
    ///
    /// A date is not used beside an entity tag, not even beside a weak one (RFC 9110 §13.1.5).
    init?(_ response: HTTPResponse) {
        if let tag = response.headers["ETag"] {
            guard Self.isStrongTag(tag) else { return nil }
            self = .entityTag(tag)
            return
        }
        guard let text = response.headers["Last-Modified"], let modified = HTTPDate.parse(text),
            let date = response.headers["Date"].flatMap({ HTTPDate.parse($0) }),
            date.timeIntervalSince(modified) >= Self.margin
        else { return nil }
        self = .lastModified(text)
    }

    /// The value of `If-Range`.
    var fieldValue: String {
        switch self {
        case .entityTag(let text), .lastModified(let text): text
        }
    }

    /// Whether the validator has the form of one; it may come from anywhere.
    var isWellFormed: Bool {
        switch self {
        case .entityTag(let tag): Self.isStrongTag(tag)
        case .lastModified(let text): HTTPDate.parse(text) != nil && text.utf8.isFieldValue
        }
    }

    /// Returns whether a response speaks of another state of the resource; one that says nothing does not.
    func isContradicted(by response: HTTPResponse) -> Bool {
        switch self {
        case .entityTag(let tag):
            return response.headers["ETag"].map { $0 != tag } ?? false
        case .lastModified(let text):
            guard let other = response.headers["Last-Modified"], other != text else { return false }
            guard let left = HTTPDate.parse(text), let right = HTTPDate.parse(other) else { return true }
            return left != right
        }
    }

    /// Whether the text is a strong entity tag (RFC 9110 §8.8.3); several joined to one value are not.
    private static func isStrongTag(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.count >= 2, bytes.first == 0x22, bytes.last == 0x22 else { return false }
        return bytes.dropFirst().dropLast().allSatisfy { $0 == 0x21 || ($0 >= 0x23 && $0 != 0x7f) }
    }
}

/// Says which bytes of a representation a response holds, or that there are none such (RFC 9110 §14.4).
enum ContentRange: Hashable, Sendable {
    /// The bytes from the first to the last, both included, and how many the whole has, if that is known.
    case bytes(first: Int64, last: Int64, total: Int64?)
    /// The range that was asked for is beyond the whole, which has so many bytes.
    case unsatisfied(total: Int64)

    /// Parses the value of a `Content-Range` field.
    ///
    /// `nil` when it breaks the grammar, names another unit than bytes or contradicts itself: a last byte before the first
    /// or beyond the total, numbers that are too large.
    init?(_ text: String) {
        let words = text.split { $0 == " " || $0 == "\t" }
        guard words.count == 2, String(words[0]).isSameIgnoringCase(as: "bytes") else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let total = Int64(digits: parts[1])
        if parts[0] == "*" {
            guard let total else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int64(digits: ends[0]), let last = Int64(digits: ends[1]), first <= last,
            last < Int64.max
        else { return nil }
        if let total {
            guard last < total else { return nil }
        } else {
            guard parts[1] == "*" else { return nil }
        }
        self = .bytes(first: first, last: last, total: total)
    }
}

/// Decides whether an interrupted download resumes automatically, and when.
///
/// A pure value that receives every interruption. Attempts that make progress may follow each other without end;
/// attempts without progress are few, at growing intervals.
struct AutomaticResumption: Hashable, Sendable {
    /// How many bytes an attempt must fetch to count as progress.
    static let minimumProgress: Int64 = 1024

    /// How many attempts in a row may make no progress.
    static let limit = 5

    /// How long to wait before the first attempt.
    static let shortestDelay: Duration = .milliseconds(500)

    /// How many attempts in a row made no progress.
    private(set) var attemptsWithoutProgress = 0

    /// Takes note of an interruption and returns how long to wait before another attempt; `nil` to give up.
    ///
    /// - Parameters:
    ///   - kind: Why the attempt failed.
    ///   - fetched: How many bytes it added to the file.
    ///   - canResume: Whether there is anything to resume.
    ///   - spread: From 0 to 1, at random: delays grow by up to half, so that clients that were interrupted together do
    ///     not all come back together.
    /// - Returns: The delay.
    mutating func interrupted(
        by kind: RequestError.Kind, fetched: Int64, canResume: Bool, spread: Double
    ) -> Duration? {
        guard canResume, Self.isInterruption(kind) else { return nil }
        attemptsWithoutProgress = fetched >= Self.minimumProgress ? 0 : attemptsWithoutProgress + 1
        guard attemptsWithoutProgress < Self.limit else { return nil }
        let delay = Self.shortestDelay * (1 << attemptsWithoutProgress)
        return delay + delay / 2 * min(max(spread, 0), 1)
    }

    /// Whether the failure is one of the way between here and the server, which the next attempt may not meet.
    ///
    /// The time limit of the exchange as a whole is the user's wish, not an interruption.
    static func isInterruption(_ kind: RequestError.Kind) -> Bool {
        switch kind {
        case .connection(.nameNotResolved), .connection(.refused), .connection(.lost), .connection(.http2): true
        case .timedOut(.connect), .timedOut(.idle): true
        case .invalidResponse(.truncated), .invalidResponse(.http2Stream): true
        default: false
        }
    }
}
