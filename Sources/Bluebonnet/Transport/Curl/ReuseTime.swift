/// How long a server keeps an idle HTTP/1.1 connection open, by its `Keep-Alive` field (RFC 2068 §19.7.1.1).
///
/// Without this, a request may be sent at the moment at which the server closes the connection. A request that must not
/// be sent twice then fails.
struct ReuseTime: Equatable {
    /// The time for which the idle connection is used again.
    ///
    /// It is a quarter shorter than the server's time, but at most a second, because the server has counted it since it
    /// sent the response, and closes the connection without waiting for a request that is under way.
    let nanoseconds: Int64

    /// The parameter is a number of seconds.
    init(timeout: Int64) {
        let whole = min(timeout, 1 << 32) * 1_000_000_000
        nanoseconds = whole - min(whole / 4, 1_000_000_000)
    }

    /// Reads a field line, such as `Keep-Alive: timeout=5, max=100`; `nil` if it has no valid timeout.
    init?(field line: Span<UInt8>) {
        let value = String(repairing: line).prefix { !$0.isNewline }.drop { $0 != ":" }.dropFirst()
        for parameter in value.split(separator: ",") {
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, String(String(parts[0]).trimmed).isSameIgnoringCase(as: "timeout"),
                let timeout = Int64(digits: String(parts[1]).trimmed)
            else { continue }
            self.init(timeout: timeout)
            return
        }
        return nil
    }
}
