/// The fields of an event stream since the last blank line, put together line by line (WHATWG HTML §9.2.6).
struct ServerSentEventBlock {
    /// The lines of data, joined with line feeds; none before the first `data` field, even an empty one.
    private(set) var data: String?
    /// The kind of event; empty when there is no `event` field.
    private(set) var event = ""
    /// The last event ID from the block's end on, if it is a new one.
    private(set) var id: String?
    /// The reconnection time, if it is a new one.
    private(set) var retry: Duration?

    /// How many bytes an ID may have: with it, a field is within the 8,190 bytes that most servers take for a line.
    private static let idLimit = 8000

    /// Takes in a line that is not blank: a field or a comment.
    mutating func lineReceived(_ line: Span<UInt8>, limit: Int) throws(RequestError) {
        let size = line.count
        let colon = ByteSearch.firstOffset(of: UInt8(ascii: ":"), in: 0..<size, of: line) ?? size
        // No field has a longer name; a comment has none.
        guard (2...5).contains(colon) else { return }
        var start = min(colon + 1, size)
        if start < size, line[start] == UInt8(ascii: " ") { start += 1 }
        let value = line.extracting(start..<size)
        switch String(repairing: line.extracting(0..<colon)) {
        case "data": try append(data: value, limit: limit)
        case "event": event = String(repairing: value)
        case "id":
            // An ID that could not be sent back in a field is not one; so the standard has it for one with a NUL.
            guard value.count <= Self.idLimit, ByteSearch.firstOffset(of: 0, in: value.indices, of: value) == nil else {
                return
            }
            id = String(repairing: value)
        case "retry": retry = Self.milliseconds(value) ?? retry
        default: break
        }
    }

    private mutating func append(data value: Span<UInt8>, limit: Int) throws(RequestError) {
        let held = data.map { $0.utf8.count + 1 } ?? 0
        guard value.count <= limit - held else {
            throw RequestError(
                .invalidResponse(.bodyTooLarge(limit: Int64(limit))), detail: "an event of it is longer than the limit")
        }
        let text = String(repairing: value)
        guard data != nil else {
            data = text
            return
        }
        data?.append("\n")
        data?.append(text)
    }

    /// Returns the time that a `retry` field gives in digits; a number beyond 64 bits is none.
    private static func milliseconds(_ value: Span<UInt8>) -> Duration? {
        guard !value.isEmpty else { return nil }
        var number: Int64 = 0
        for index in value.indices {
            let digit = value[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            let (tens, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isBeyond) = tens.addingReportingOverflow(Int64(digit))
            guard !isTooLarge, !isBeyond else { return nil }
            number = sum
        }
        return .milliseconds(number)
    }
}
