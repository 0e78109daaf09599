// Safety: the bytes are an array's, used while it is borrowed.
extension Reception {
    /// Takes the answer that was left unread when sending failed; returns whether there was one.
    mutating func receivedLastWords(_ words: [UInt8], now: Int64) -> Bool {
        guard head == nil, words.starts(with: "HTTP/1.".utf8) else { return false }
        var start = 0
        // Informational heads may come first.
        while head == nil, let end = Self.endOfHead(in: words, from: start) {
            let (progress, _) = unsafe words.withUnsafeBytes { bytes in
                unsafe receivedHead(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), now: now)
            }
            if case .refused = progress { return false }
            start = end
        }
        guard head != nil else { return false }
        keepLastWords(words[start...])
        return true
    }

    /// What is missing of such an answer: its body is taken as it came, without a transfer coding.
    var lastWordsError: RequestError? {
        mutating get {
            if let expectedBytes, expectedBytes == body.count { return nil }
            return RequestError(
                .invalidResponse(.truncated), detail: "the connection was reset while the body was sent")
        }
    }

    /// Where the first head after an offset ends, its empty line included.
    private static func endOfHead(in words: [UInt8], from start: Int) -> Int? {
        var isAtLineStart = false
        for index in start..<words.count {
            switch words[index] {
            case 0x0a:
                if isAtLineStart { return index + 1 }
                isAtLineStart = true
            case 0x0d: break
            default: isAtLineStart = false
            }
        }
        return nil
    }
}

extension Transfer {
    /// Whether what was left unread in the socket may be an answer: with TLS, anybody on the way could have put it there.
    func mayTakeLastWords(from version: IdleConnections.Version?) -> Bool {
        version == .http1 || (version == nil && !isSecure && !isProxied)
    }
}
