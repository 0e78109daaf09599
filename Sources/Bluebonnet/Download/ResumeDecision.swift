import FoundationEssentials

/// Decides how to request the rest of a representation, and how to handle the response.
///
/// The value is created with the properties of the partial file, and later receives responses.
struct ResumeDecision: Hashable, Sendable {
    /// The number of bytes in the partial file.
    let size: Int64
    /// The validator of the representation in the partial file.
    let validator: ResumeValidator
    /// The size of the whole representation in bytes, or `nil` if it is unknown.
    let total: Int64?

    /// Creates the decision, or returns `nil` if the partial file cannot be resumed.
    init?(size: Int64, validator: ResumeValidator, total: Int64?) {
        guard size > 0, size <= total ?? .max else { return nil }
        self.size = size
        self.validator = validator
        self.total = total
    }

    /// The position of the first requested byte.
    ///
    /// If no bytes are missing, the last byte is requested again. The response shows whether the server still has the
    /// same representation.
    var start: Int64 { size == total ? size - 1 : size }

    /// The fields that request the rest of the representation, or the whole representation if it has changed (RFC 9110
    /// §13.1.5, §14.2).
    ///
    /// The request refuses content codings, because ranges would otherwise refer to encoded bytes.
    var fields: HTTPHeaders {
        ["Range": "bytes=\(start)-", "If-Range": validator.fieldValue, "Accept-Encoding": "identity"]
    }

    /// The meaning of a response.
    enum ResponseMeaning: Hashable, Sendable {
        /// The body continues at a position in the partial file.
        ///
        /// The partial file is truncated at this position. `end` is the position at which the body ends. `total` is the
        /// size of the whole representation, or `nil` if it is unknown.
        case append(at: Int64, end: Int64, total: Int64?)
        /// The body is the whole representation, because the resource has changed or the server does not support
        /// ranges.
        case whole
        /// The partial file is complete.
        case complete
        /// The response cannot be used, so the whole representation must be requested.
        case startOver
        /// The response contains neither the rest nor the whole representation.
        ///
        /// The partial file is kept.
        case refused(statusCode: Int)
    }

    /// Returns the meaning of a response to a request with these fields.
    func answer(_ response: HTTPResponse) -> ResponseMeaning {
        switch response.statusCode {
        case 200: response.isPartSentAsWhole(of: validator, total: total) ? .startOver : .whole
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
        // A response without new bytes could cause an endless loop of the same request.
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

extension HTTPResponse {
    /// Whether a 200 response to a request for a range contains only a part, against RFC 9110 §15.3.7.
    ///
    /// It has a `Content-Range` field, which has no meaning in a 200 response (§14.4), or the length differs from the
    /// length of the same representation.
    func isPartSentAsWhole(of validator: ResumeValidator?, total: Int64?) -> Bool {
        guard statusCode == 200 else { return false }
        if headers["Content-Range"].flatMap({ ContentRange($0) })?.isPart == true { return true }
        guard case .entityTag(let tag) = validator, headers["ETag"] == tag, head.isUncoded, let total,
            let length = head.statedLength
        else { return false }
        return length != total
    }
}

/// A strong validator of a representation (RFC 9110 §8.8.1).
enum ResumeValidator: Hashable, Sendable {
    /// A strong entity tag, including its quotes.
    case entityTag(String)
    /// The `Last-Modified` date in the form that the server sent.
    case lastModified(String)

    /// The minimum time in seconds between the last change and the response for which the date is a strong validator.
    ///
    /// Two changes within one second have the same date. RFC 9110 §8.8.2.2 requires a difference of one second if both
    /// dates are from the same clock, and an unspecified longer time otherwise. A client cannot know which case
    /// applies, so it uses the 60 seconds of RFC 7232.
    static let margin: TimeInterval = 60

    /// Returns the strong validator of a response, or `nil` if there is none.
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

    /// Whether the validator is well-formed.
    ///
    /// The check is necessary because the validator may come from an untrusted source.
    var isWellFormed: Bool {
        switch self {
        case .entityTag(let tag): Self.isStrongTag(tag)
        case .lastModified(let text): HTTPDate.parse(text) != nil && text.utf8.isFieldValue
        }
    }

    /// Returns whether a response has a different validator.
    ///
    /// The result is `false` for a response without a validator.
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

    /// Returns whether the text is a single strong entity tag (RFC 9110 §8.8.3).
    private static func isStrongTag(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.count >= 2, bytes.first == 0x22, bytes.last == 0x22 else { return false }
        return bytes.dropFirst().dropLast().allSatisfy { $0 == 0x21 || ($0 >= 0x23 && $0 != 0x7f) }
    }
}

/// The value of a `Content-Range` field (RFC 9110 §14.4).
package enum ContentRange: Hashable, Sendable {
    /// The range from the first to the last byte, inclusive, and the size of the representation in bytes if it is
    /// known.
    case bytes(first: Int64, last: Int64, total: Int64?)
    /// The requested range is not satisfiable.
    ///
    /// `total` is the size of the representation in bytes.
    case unsatisfied(total: Int64)

    /// Whether bytes are missing before or after the range.
    package var isPart: Bool {
        guard case .bytes(let first, let last, let total) = self else { return false }
        return first > 0 || last + 1 < total ?? 0
    }

    /// Parses the value of a `Content-Range` field.
    ///
    /// The result is `nil` if the value is not well-formed, its unit is not bytes, or a number is too large. It is also
    /// `nil` if the last byte is before the first byte or beyond the total.
    package init?(_ text: String) {
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
/// The value receives each interruption. The number of attempts with progress is unlimited. The number of attempts
/// without progress is limited, and the delay before each of them increases.
struct AutomaticResumption: Hashable, Sendable {
    /// The number of bytes that an attempt must receive to count as progress.
    static let minimumProgress: Int64 = 1024

    /// The number of attempts in a row without progress at which automatic resuming ends.
    static let limit = 5

    /// The delay before the next attempt if the last attempt made progress.
    static let shortestDelay: Duration = .milliseconds(500)

    /// The number of attempts in a row without progress.
    private(set) var attemptsWithoutProgress = 0

    /// Records an interruption, and returns the delay before the next attempt.
    ///
    /// - Parameters:
    ///   - kind: The kind of failure that ended the attempt.
    ///   - gained: The number of bytes that the attempt added to what was received before.
    ///   - canResume: Whether the download can be resumed.
    ///   - spread: A random number from 0 to 1. It extends the delay by up to half, so that clients that were
    ///     interrupted at the same time do not all reconnect at the same time.
    /// - Returns: The delay, or `nil` if the download is not resumed automatically.
    mutating func interrupted(
        by kind: RequestError.Kind, gained: Int64, canResume: Bool, spread: Double
    ) -> Duration? {
        guard canResume, Self.isInterruption(kind) else { return nil }
        attemptsWithoutProgress = gained >= Self.minimumProgress ? 0 : attemptsWithoutProgress + 1
        guard attemptsWithoutProgress < Self.limit else { return nil }
        let delay = Self.shortestDelay * (1 << attemptsWithoutProgress)
        return delay + delay / 2 * min(max(spread, 0), 1)
    }

    /// Returns whether the failure is an interruption, so that the next attempt may succeed.
    ///
    /// The timeout of the whole exchange is not an interruption, because the user has chosen it.
    static func isInterruption(_ kind: RequestError.Kind) -> Bool {
        switch kind {
        case .connection(.nameNotResolved), .connection(.refused), .connection(.lost), .connection(.http2),
            .connection(.http3):
            true
        case .timedOut(.connect), .timedOut(.idle): true
        case .invalidResponse(.truncated), .invalidResponse(.http2Stream), .invalidResponse(.http3Stream): true
        default: false
        }
    }
}
