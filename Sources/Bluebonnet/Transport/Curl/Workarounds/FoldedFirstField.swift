/// Tracks whether libcurl has stored a field of this transfer; from 7.84.0 to 8.0.1 it must not store a folded line
/// before.
///
/// Libcurl appends a field line that begins with a space or a tab to the field before it (`data->state.prevhead` in
/// `headers.c`). On a handle that is used again, `prevhead` points to a field of the previous transfer, which has been
/// freed. A server can cause this at will.
///
/// With `CURLOPT_HEADER`, libcurl passes each line of a head to the write callback before it stores the line, and to
/// the header callback afterwards. The option is on until a field of this transfer is stored; until then the write
/// callback refuses folded lines. Of a proxy's answer to CONNECT, libcurl stores nothing; see ``TunnelTrailers``.
// Safety: libcurl's buffers are used within the callback that provides them.
enum FoldedFirstField: Equatable {
    /// A field is stored, or this libcurl does not have the fault.
    case stored
    /// The write callback gets the beginning of a line of the head next.
    case awaited
    /// The write callback gets the rest of a line of the head next, of which it has had so many bytes.
    case withinLine(bytes: Int)
    /// The request goes out by HTTP/2, of which libcurl stores the pseudo-header field `:status` first, and nghttp2
    /// refuses folded lines. It may be sent again by HTTP/1.1.
    case pseudo
    /// The head is complete and has no field: the write callback gets the body, unless the request is sent again.
    case missing

    /// How a transfer begins.
    static let initial = (0x07_54_00..<0x08_01_00).contains(Libcurl.version) ? Self.awaited : .stored

    /// The longest line that libcurl takes: what the write callback gets beyond that is a body, of a head misread here.
    private static let longestLine = 100 * 1024

    /// Whether the write callback gets a head rather than a body.
    var isHeadExpected: Bool {
        switch self {
        case .awaited, .withinLine: true
        case .stored, .pseudo, .missing: false
        }
    }

    /// The request is about to be sent, for the first time or again.
    mutating func requestBegins(isHTTP2: Bool) {
        if self != .stored { self = isHTTP2 ? .pseudo : .awaited }
    }

    /// The write callback got bytes of a line of the head; returns why libcurl must not store the line, if so.
    mutating func lineBytesReceived(_ bytes: UnsafeRawBufferPointer) -> String? {
        switch self {
        case .awaited:
            guard let first = unsafe bytes.first else { return nil }
            self = .withinLine(bytes: bytes.count)
            return FieldSyntax.isWhitespace(first) ? FramingCheck.foldedFirstField : nil
        case .withinLine(let before):
            self = .withinLine(bytes: before + bytes.count)
            return before + bytes.count > Self.longestLine ? "a line of the head has no end" : nil
        case .stored, .pseudo, .missing:
            return nil
        }
    }

    /// The header callback got a line of the head, or several that came in while the transfer was paused.
    mutating func linesStored(_ lines: UnsafeRawBufferPointer, isHeadComplete: Bool) {
        guard self != .stored, self != .pseudo, let first = unsafe lines.first else { return }
        let span = unsafe lines.assumingMemoryBound(to: UInt8.self).span
        let isField = first != 0x0d && first != 0x0a && !StatusLine.isBegun(by: span, inAnyCase: true)
        self = isField ? .stored : isHeadComplete ? .missing : .awaited
    }
}
