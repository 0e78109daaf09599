extension String {
    /// Creates the text of UTF-8, with U+FFFD for what is malformed, as the WHATWG's decoder has it.
    ///
    /// Each maximal part of a sequence that could have become a scalar is one U+FFFD, and so is each byte that could not
    /// begin one (Encoding Standard, "UTF-8 decoder"; Unicode §3.9, "substitution of maximal subparts").
    init(repairing bytes: Span<UInt8>) {
        do {
            self.init(copying: try UTF8Span(validating: bytes))
        } catch {
            var copy: [UInt8] = []
            copy.reserveCapacity(bytes.count)
            for index in bytes.indices { copy.append(bytes[index]) }
            self.init(decoding: copy, as: UTF8.self)
        }
    }
}
