/// Finds the parts of a URL's text without taking it apart (RFC 3986 §3).
///
/// Offsets into the UTF-8 of an absolute URL. The text needs not be a valid URL: what is not there is empty.
struct URLSyntax {
    /// The scheme, without its colon; empty when there is none.
    let scheme: Range<Int>
    /// User info, host and port: all between `//` and the path; empty when there is none.
    let authority: Range<Int>
    /// The host, in the brackets of an IPv6 address.
    let host: Range<Int>
    /// What follows the colon after the host; nil when there is no colon.
    let port: Range<Int>?

    /// Scans a URL.
    init(_ text: Span<UInt8>) {
        var index = 0
        while index < text.count, Self.isSchemeByte(text[index]) {
            index += 1
        }
        scheme = index < text.count && text[index] == 0x3a ? 0..<index : 0..<0
        let slashes = scheme.isEmpty ? 0 : index + 1
        guard slashes + 1 < text.count, text[slashes] == 0x2f, text[slashes + 1] == 0x2f else {
            authority = slashes..<slashes
            host = slashes..<slashes
            port = nil
            return
        }
        let start = slashes + 2
        var hostStart = start
        var colon: Int?
        index = start
        scan: while index < text.count {
            switch text[index] {
            case 0x2f, 0x3f, 0x23:  // / ? #
                break scan
            case 0x40:  // @
                hostStart = index + 1
                colon = nil
            case 0x3a:  // :
                colon = index
            case 0x5d:  // ]
                colon = nil
            default:
                break
            }
            index += 1
        }
        authority = start..<index
        host = hostStart..<(colon ?? index)
        port = colon.map { ($0 + 1)..<index }
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        FieldSyntax.isAlphanumeric(byte) || byte == 0x2b || byte == 0x2d || byte == 0x2e
    }
}
