/// Keeps a folded first field line from libcurl, which would read freed memory: 7.83.0 to 8.0.1.
///
/// Libcurl adds a field line that begins with a space or a tab to the field before it, `data->state.prevhead` in
/// `headers.c`. When a handle is used again, that is one of its last transfer's, which was freed. The peer decides when
/// that happens.
///
/// With `CURLOPT_HEADER`, libcurl hands each line of a head to the write callback before it stores the line, and to the
/// header callback after that. So the option is on until a field of this transfer is stored, and the write callback refuses
/// a line that must not be.
// Safety: libcurl's buffers are used within the callback that provides them.
enum FirstFieldGate: Equatable {
    /// A field is stored, or libcurl is without fault.
    case open
    /// What the write callback gets next is the beginning of a line of the head.
    case closed
    /// It is the rest of one.
    case withinLine

    /// Whether this libcurl has the fault.
    static let isNeeded = (0x07_53_00..<0x08_01_00).contains(Libcurl.version)

    /// Takes what the write callback got; returns whether libcurl may store the line.
    mutating func admits(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard self == .closed, let first = unsafe bytes.first else { return true }
        self = .withinLine
        return !FieldSyntax.isWhitespace(first)
    }

    /// Takes what the header callback got, a line or several, as libcurl has stored them; returns whether a field is among
    /// them, or the head is complete: then the write callback gets the body.
    mutating func opens(after lines: UnsafeRawBufferPointer, isComplete: Bool) -> Bool {
        guard let first = unsafe lines.first else { return false }
        let isField = unsafe first != 0x0d && first != 0x0a && !Reception.isStatusLine(lines)
        self = isField || isComplete ? .open : .closed
        return self == .open
    }
}
