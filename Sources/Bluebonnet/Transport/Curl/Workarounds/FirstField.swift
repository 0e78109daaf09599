/// Knows whether libcurl has stored a field of this transfer; 7.84.0 to 8.0.1 must not store a folded line before that.
///
/// Libcurl appends a field line that begins with a space or a tab to the field before it (`data->state.prevhead` in
/// `headers.c`). On a handle that is used again, `prevhead` points to a field of the previous transfer, which has been freed.
/// A server can cause this at will.
///
/// With `CURLOPT_HEADER`, libcurl passes each line of a head to the write callback before it stores the line, and to the
/// header callback afterwards. The option is on until a field of this transfer is stored; until then the write callback
/// refuses folded lines.
// Safety: libcurl's buffers are used within the callback that provides them.
enum FirstField: Equatable {
    /// It is stored, or libcurl is without fault.
    case stored
    /// The write callback gets the beginning of a line of the head next.
    case awaited
    /// The write callback gets the rest of a line of the head next.
    case withinLine
    /// The request goes out by HTTP/2, of which libcurl stores the pseudo-header field `:status` first, and nghttp2 refuses
    /// folded lines. It may be sent again by HTTP/1.1.
    case pseudo
    /// The head is complete and has no field: the write callback gets the body, unless the request is sent again.
    case missing

    /// Whether this libcurl has the fault.
    static let isGuarded = (0x07_54_00..<0x08_01_00).contains(Libcurl.version)

    /// Whether the write callback gets a head rather than a body.
    var isHeadExpected: Bool { self == .awaited || self == .withinLine }

    /// The request is about to be sent, for the first time or again.
    mutating func requestBegins(isHTTP2: Bool) {
        if self != .stored { self = isHTTP2 ? .pseudo : .awaited }
    }

    /// The write callback got bytes of a line of the head; returns whether libcurl may store the line.
    mutating func lineBytesReceived(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard self == .awaited, let first = unsafe bytes.first else { return true }
        self = .withinLine
        return !FieldSyntax.isWhitespace(first)
    }

    /// The header callback got a line of the head, or several that came in while the transfer was paused.
    mutating func linesStored(_ lines: UnsafeRawBufferPointer, isHeadComplete: Bool) {
        guard self != .stored, self != .pseudo, let first = unsafe lines.first else { return }
        let isField = unsafe first != 0x0d && first != 0x0a && !Self.isStatusLine(lines)
        self = isField ? .stored : isHeadComplete ? .missing : .awaited
    }

    /// Whether libcurl takes a line for a status line: in any case of letters.
    private static func isStatusLine(_ line: UnsafeRawBufferPointer) -> Bool {
        unsafe line.prefix(5).elementsEqual("http/".utf8) { FieldSyntax.lowercased($0) == $1 }
    }
}
