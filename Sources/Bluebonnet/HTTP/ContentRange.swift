/// Says which bytes of a representation a response holds, or that there are none such (RFC 9110 §14.4).
enum ContentRange: Hashable, Sendable {
    /// The bytes from the first to the last, both included, and how many the whole has, if that is known.
    case bytes(first: Int64, last: Int64, total: Int64?)
    /// There is nothing of what was asked for; the whole has so many bytes.
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
        let total = Self.number(parts[1])
        if parts[0] == "*" {
            guard let total else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
            last < Int64.max
        else { return nil }
        if let total {
            guard last < total else { return nil }
        } else {
            guard parts[1] == "*" else { return nil }
        }
        self = .bytes(first: first, last: last, total: total)
    }

    private static func number(_ text: Substring) -> Int64? {
        text.utf8.allSatisfy { $0 &- 0x30 < 10 } ? Int64(text) : nil
    }
}
