extension ReceivedHead {
    /// How many bytes of body are to come, if the head says so, and means the bytes that are handed out.
    package var contentLength: Int64? {
        guard let text = value(for: "Content-Length"), let length = Self.length(text) else { return nil }
        guard value(for: "Transfer-Encoding") == nil else { return nil }
        guard let coding = value(for: "Content-Encoding") else { return length }
        return coding.isSameIgnoringCase(as: "identity") || coding.isEmpty ? length : nil
    }

    /// Returns the length that a field gives, also when it does so several times (RFC 9110 §8.6).
    private static func length(_ text: String) -> Int64? {
        guard text.utf8.contains(0x2c) else { return digits(text) }
        let lengths = text.split(separator: ",", omittingEmptySubsequences: false).map { digits($0.trimmed) }
        guard let first = lengths[0], lengths.allSatisfy({ $0 == first }) else { return nil }
        return first
    }

    private static func digits(_ text: some StringProtocol) -> Int64? {
        text.utf8.allSatisfy { $0 &- 0x30 < 10 } ? Int64(text) : nil
    }
}
