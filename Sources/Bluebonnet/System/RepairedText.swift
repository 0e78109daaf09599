extension String {
    /// Decodes UTF-8, with U+FFFD in place of malformed bytes.
    ///
    /// One U+FFFD replaces each maximal subpart of an ill-formed sequence, and each byte that cannot start a scalar.
    /// The result is the same as with the "UTF-8 decoder" of the Encoding Standard (Unicode §3.9, "substitution of
    /// maximal subparts").
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
