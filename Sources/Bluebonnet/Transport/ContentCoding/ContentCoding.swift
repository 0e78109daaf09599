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
    static func isNamed(in line: Span<UInt8>) -> Bool { FieldSyntax.isField(line, named: "content-encoding") }
}
