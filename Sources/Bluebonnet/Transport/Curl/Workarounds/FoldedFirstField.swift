/// Tracks whether libcurl has stored a field of this transfer; before this, it must not store a folded line.
///
/// Libcurl 7.84.0 to 8.0.1 appends a field line that begins with a space or a tab to the previous field
/// (`data->state.prevhead` in `headers.c`). On a reused handle, `prevhead` points to a field of the previous transfer,
/// which has been freed. Any server can cause this.
///
/// With `CURLOPT_HEADER`, libcurl passes each line of a head to the write callback before it stores the line, and to
/// the header callback afterwards. The option is set until a field of this transfer is stored. Until then, the write
/// callback refuses folded lines. Libcurl stores no fields of a proxy's response to CONNECT; see ``TunnelTrailers``.
// Safety: libcurl's buffers are used within the callback that provides them.
enum FoldedFirstField: Equatable {
    /// A field is stored, or the installed libcurl does not have the defect.
    case stored
    /// The next call of the write callback receives the start of a head line.
    case awaited
    /// The next call of the write callback receives the rest of a head line.
    ///
    /// The earlier calls have received the given number of bytes of the line.
    case withinLine(bytes: Int)
    /// The request is sent over HTTP/2.
    ///
    /// Libcurl first stores the pseudo-header field `:status`, and nghttp2 refuses folded lines. The request may be
    /// sent again over HTTP/1.1.
    case pseudo
    /// The head is complete and has no field. The write callback receives the body, unless the request is sent again.
    case missing

    /// The initial state of a transfer.
    static let initial = (0x07_54_00..<0x08_01_00).contains(Libcurl.version) ? Self.awaited : .stored

    /// The maximum length of a line in libcurl; if the write callback receives more bytes, they belong to a body.
    private static let longestLine = 100 * 1024

    /// Whether the write callback receives a head instead of a body.
    var isHeadExpected: Bool {
        switch self {
        case .awaited, .withinLine: true
        case .stored, .pseudo, .missing: false
        }
    }

    /// Called when the request is about to be sent, for the first time or again.
    mutating func requestBegins(isHTTP2: Bool) {
        if self != .stored { self = isHTTP2 ? .pseudo : .awaited }
    }

    /// Called when the write callback received bytes of a head line; returns the reason to refuse the line, or `nil`.
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

    /// Called when the header callback received one head line, or several lines that arrived during a pause.
    mutating func linesStored(_ lines: UnsafeRawBufferPointer, isHeadComplete: Bool) {
        guard self != .stored, self != .pseudo, let first = unsafe lines.first else { return }
        let span = unsafe lines.assumingMemoryBound(to: UInt8.self).span
        let isField = first != 0x0d && first != 0x0a && !StatusLine.isBegun(by: span, inAnyCase: true)
        self = isField ? .stored : isHeadComplete ? .missing : .awaited
    }
}
