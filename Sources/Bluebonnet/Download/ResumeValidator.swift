import FoundationEssentials

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

    /// Whether the validator could be one, whoever says so.
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
