import FoundationEssentials

/// Decides how to request the rest of a representation, and how to handle the response.
///
/// This is a pure value: it is created with the facts about the partial file, and later receives responses.
struct ResumeDecision: Hashable, Sendable {
    /// The number of bytes in the partial file.
    let size: Int64
    /// The validator of the representation that the bytes belong to.
    let validator: ResumeValidator
    /// The size of the whole representation in bytes, if it is known.
    let total: Int64?

    /// Creates the decision; `nil` if there is nothing to resume.
    init?(size: Int64, validator: ResumeValidator, total: Int64?) {
        guard size > 0, size <= total ?? .max else { return nil }
        self.size = size
        self.validator = validator
        self.total = total
    }

    /// The position of the first requested byte.
    ///
    /// If no bytes are missing, the last byte is requested again. If the server still has this byte of the same
    /// representation, the partial file is complete, and the response is handled like any other.
    var start: Int64 { size == total ? size - 1 : size }

    /// The fields that request the rest, or the whole representation if it has changed (RFC 9110 §13.1.5, §14.2).
    ///
    /// With a content coding, ranges would count encoded bytes, so the request asks for no coding.
    var fields: HTTPHeaders {
        ["Range": "bytes=\(start)-", "If-Range": validator.fieldValue, "Accept-Encoding": "identity"]
    }

    /// The meaning of a response.
    enum ResponseMeaning: Hashable, Sendable {
        /// The body continues at a position in the partial file, which is truncated there.
        ///
        /// `end` is the position at which the body ends, and `total` the size of the whole representation, if it is
        /// known.
        case append(at: Int64, end: Int64, total: Int64?)
        /// The body is the whole representation: the resource has changed, or the server does not support ranges.
        case whole
        /// No bytes are missing: the partial file is complete.
        case complete
        /// The response cannot be used: the whole representation must be requested.
        case startOver
        /// The response is neither the rest nor the whole representation; the partial file is kept.
        case refused(statusCode: Int)
    }

    /// Returns the meaning of a response to a request with these fields.
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
        // A response without new bytes could lead to the same request again and again.
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

/// A strong validator, which identifies one version of a representation byte for byte (RFC 9110 §8.8.1).
enum ResumeValidator: Hashable, Sendable {
    /// A strong entity tag, including its quotes.
    case entityTag(String)
    /// The `Last-Modified` date exactly as the server sent it.
    case lastModified(String)

    /// The minimum time in seconds between the last change and the response that makes the date a strong validator.
    ///
    /// Two changes within one second have the same date. RFC 9110 §8.8.2.2 requires a difference of one second if both
    /// dates come from the same clock, and an unspecified longer time otherwise. A client cannot know which case
    /// applies, so this is the 60 seconds of RFC 7232.
    static let margin: TimeInterval = 60

    /// Returns the strong validator of a response; `nil` if there is none.
    ///
    /// A date is not used if there is an entity tag, even a weak one (RFC 9110 §13.1.5).
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

    /// The value of the `If-Range` field.
    var fieldValue: String {
        switch self {
        case .entityTag(let text), .lastModified(let text): text
        }
    }

    /// Whether the validator is well-formed; it may come from an untrusted source.
    var isWellFormed: Bool {
        switch self {
        case .entityTag(let tag): Self.isStrongTag(tag)
        case .lastModified(let text): HTTPDate.parse(text) != nil && text.utf8.isFieldValue
        }
    }

    /// Returns whether a response has a different validator; a response without a validator does not contradict.
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

    /// Whether the text is a single strong entity tag (RFC 9110 §8.8.3).
    private static func isStrongTag(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.count >= 2, bytes.first == 0x22, bytes.last == 0x22 else { return false }
        return bytes.dropFirst().dropLast().allSatisfy { $0 == 0x21 || ($0 >= 0x23 && $0 != 0x7f) }
    }
}

/// The byte range of a response, or the information that the range is not satisfiable (RFC 9110 §14.4).
enum ContentRange: Hashable, Sendable {
    /// The range from the first to the last byte, both included, and the size of the whole in bytes, if it is known.
    case bytes(first: Int64, last: Int64, total: Int64?)
    /// The requested range is outside the representation, whose size in bytes is `total`.
    case unsatisfied(total: Int64)

    /// Parses the value of a `Content-Range` field.
    ///
    /// The result is `nil` in these cases: the value is not well-formed, its unit is not bytes, the last byte is before
    /// the first or beyond the total, or a number is too large.
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
/// This is a pure value that receives each interruption. The number of attempts with progress is unlimited. The number
/// of attempts without progress is limited, and their delays grow.
struct AutomaticResumption: Hashable, Sendable {
    /// The number of bytes that an attempt must fetch to count as progress.
    static let minimumProgress: Int64 = 1024

    /// The number of attempts in a row without progress at which automatic resuming ends.
    static let limit = 5

    /// The delay before the next attempt if the last one made progress.
    static let shortestDelay: Duration = .milliseconds(500)

    /// The number of attempts in a row without progress.
    private(set) var attemptsWithoutProgress = 0

    /// Notes an interruption and returns the delay before the next attempt; `nil` to give up.
    ///
    /// - Parameters:
    ///   - kind: The kind of failure that ended the attempt.
    ///   - fetched: The number of bytes that the attempt added to the file.
    ///   - canResume: Whether there is anything to resume.
    ///   - spread: A random number from 0 to 1. It extends the delay by up to half, so that clients that were
    ///     interrupted together do not all return at the same time.
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

    /// Whether the failure happened on the way to the server, so that the next attempt may succeed.
    ///
    /// The time limit for the exchange as a whole is the user's choice, not an interruption.
    static func isInterruption(_ kind: RequestError.Kind) -> Bool {
        switch kind {
        case .connection(.nameNotResolved), .connection(.refused), .connection(.lost), .connection(.http2): true
        case .timedOut(.connect), .timedOut(.idle): true
        case .invalidResponse(.truncated), .invalidResponse(.http2Stream): true
        default: false
        }
    }
}
