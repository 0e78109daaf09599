/// A way to compress a body (RFC 9110 §8.4.1).
enum ContentCoding: Equatable {
    case gzip
    case deflate
    case brotli
    case zstd
    /// One that cannot be decoded here.
    case unknown

    /// How many codings on top of each other are decoded; libcurl has the same bound.
    static let limit = 5

    /// Returns the codings that a `Content-Encoding` lists, in the order in which they were applied.
    ///
    /// The list stops at the first one over the limit.
    static func list(_ value: String) -> [ContentCoding] {
        var codings: [ContentCoding] = []
        for name in value.split(separator: ",") where codings.count <= limit {
            switch name.trimmed.lowercased() {
            case "", "identity", "none": break
            case "gzip", "x-gzip": codings.append(.gzip)
            case "deflate": codings.append(.deflate)
            case "br" where BrotliDecoder.isAvailable: codings.append(.brotli)
            case "zstd" where ZstdDecoder.isAvailable: codings.append(.zstd)
            default: codings.append(.unknown)
            }
        }
        return codings
    }

    /// The codings that can be decoded, as a value for `Accept-Encoding` (RFC 9110 §12.5.3).
    static let acceptable: String = {
        var names = ["gzip", "deflate"]
        if BrotliDecoder.isAvailable { names.insert("br", at: 0) }
        if ZstdDecoder.isAvailable { names.append("zstd") }
        return names.enumerated().map { "\($1);q=\($0 == 0 ? "1.0" : "0.\(10 - $0)")" }.joined(separator: ", ")
    }()
}

extension ContentCoding {
    /// Whether a line of a head is the field that lists codings.
    static func isNamed(in line: Span<UInt8>) -> Bool { isField("content-encoding", count: 16, in: line) }

    /// Whether a line of a head is the field that lists transfer codings.
    static func isTransferNamed(in line: Span<UInt8>) -> Bool { isField("transfer-encoding", count: 17, in: line) }

    /// Whether the body comes without a transfer coding but for its chunks.
    ///
    /// No others were asked for (RFC 9112 §7.4), and libcurl would decode them all at once.
    static func isPlainTransfer(_ head: ReceivedHead) -> Bool {
        let codings = head.value(for: "Transfer-Encoding")?.split(separator: ",") ?? []
        return codings.allSatisfy { ["", "chunked", "identity"].contains($0.trimmed.lowercased()) }
    }

    private static func isField(_ name: String, count: Int, in line: Span<UInt8>) -> Bool {
        // The colon tells nearly all others apart.
        guard line.count > count, line[count] == 0x3a else { return false }
        return FieldSyntax.isSame(line.extracting(..<count), name.utf8.span)
    }
}
