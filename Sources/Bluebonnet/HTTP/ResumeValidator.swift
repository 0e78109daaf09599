import FoundationEssentials

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
            last < Int64.max, total.map({ last < $0 }) ?? (parts[1] == "*")
        else { return nil }
        self = .bytes(first: first, last: last, total: total)
    }
}
