import CZlib
import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite struct ContentDecoderTests {
    static let text = Array("hello hello hello hello\n".utf8)

    /// The text in each coding, and in several.
    static let coded: [(codings: String, bytes: [UInt8])] = [
        ("gzip", gzip), ("X-GZIP", gzip), ("gzip, identity", gzip), ("identity,,none", text), ("deflate", zlib),
        ("gzip", zlib), ("deflate", raw), ("br", brotli), ("zstd", zstd), ("gzip, br", brotliOfGzip),
        ("gzip, gzip, gzip, gzip, gzip", (1...4).reduce(gzip) { bytes, _ in deflated(bytes) }),
        ("zstd, deflate", deflated(zstd, .deflate)), ("gzip", gzip + deflated([])), ("gzip", deflated([]) + gzip),
        ("zstd", [0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9] + zstd),
    ]

    @Test(arguments: coded)
    func `coded bytes are decoded in pieces of any size`(_ codings: String, bytes: [UInt8]) {
        for size in 1...bytes.count {
            #expect(Self.decode(bytes, codings, by: size) == .whole(Self.text), "by \(size)")
        }
        // And so it is where others have their turn in between, whenever that is.
        for allowance in 1...40 {
            #expect(Self.decode(bytes, codings, by: 7, allowance: allowance) == .whole(Self.text), "by \(allowance)")
        }
    }

    @Test(arguments: [("gzip", gzip), ("deflate", zlib), ("deflate", raw), ("br", brotli), ("zstd", zstd)])
    func `a truncated body is not complete, wherever it ends`(_ codings: String, bytes: [UInt8]) {
        #expect(Self.decode([], codings, by: 1) == .whole([]), "no content at all is none that ends early")
        for count in 1..<bytes.count {
            guard case .part(let part) = Self.decode(Array(bytes[..<count]), codings, by: count) else {
                Issue.record("\(count) bytes of \(bytes.count)")
                continue
            }
            #expect(Self.text.starts(with: part))
        }
    }

    @Test(arguments: [("gzip", gzip), ("deflate", zlib), ("br", brotli), ("zstd", zstd)])
    func `a wrong byte is detected or does not change the end`(_ codings: String, bytes: [UInt8]) {
        var found = 0
        for index in bytes.indices {
            for wrong: UInt8 in [0x01, 0x10, 0x80, 0xff] {
                var bytes = bytes
                bytes[index] ^= wrong
                if case .failed = Self.decode(bytes, codings, by: 5) { found += 1 }
            }
        }
        #expect(found > bytes.count)
    }

    @Test(arguments: [
        ("gzip", gzip, "there are"), ("deflate", zlib, "bytes behind the end"), ("br", brotli, "bytes behind the end"),
        ("zstd", zstd, "nknown"), ("gzip, br", brotliOfGzip, "bytes behind the end"),
    ])
    func `bytes after the end are an error`(_ codings: String, bytes: [UInt8], message: String) {
        for size in [1, bytes.count, bytes.count + 10] {
            guard case .failed(let said) = Self.decode(bytes + Array("not a gzip".utf8), codings, by: size) else {
                Issue.record("\(codings) by \(size)")
                continue
            }
            #expect(codings == "gzip" ? said.contains("incorrect header") : said.contains(message), "\(said)")
        }
    }

    @Test func `four bytes after a raw deflate stream are skipped, as in libcurl`() {
        #expect(Self.decode(Self.raw + [1, 2, 3, 4], "deflate", by: 3) == .whole(Self.text))
        #expect(Self.decode(Self.raw + [1, 2, 3, 4, 5], "deflate", by: 3) == .failed("there are bytes behind the end"))
    }

    @Test(arguments: [
        ("gzip,gzip,gzip,gzip,gzip,gzip", "more than 5"), (String(repeating: "br,", count: 50_000), "more than 5"),
    ])
    func `an undecodable body is detected at the first byte`(_ codings: String, message: String) {
        #expect(Self.decode([], codings, by: 1) == .whole([]))
        guard case .failed(let said) = Self.decode([0x41], codings, by: 1) else {
            Issue.record("there is no error")
            return
        }
        #expect(said.contains(message))
    }

    @Test(
        arguments: [
            ("nonsense", [], ["nonsense"]), ("gzip, compress", [], ["gzip", "compress"]),
            ("X-GZIP , identity,", [.gzip], []),
            ("compress, gzip, deflate", [.gzip, .deflate], ["compress"]), ("", [], []), ("none, UTF-8", [], ["utf-8"]),
        ] as [(String, [ContentCoding], [String])])
    func `codings above an unknown one are removed`(_ value: String, removed: [ContentCoding], kept: [String]) {
        #expect(ContentCoding.removable(value) == removed)
        #expect(ContentCoding.kept(value) == kept)
    }

    @Test(
        arguments: [
            ("identity", "gzip", false), (nil, "gzip", false), ("gzip", "x-gzip", true), ("x-gzip", "GZIP", true),
            ("gzip;q=0", "gzip", false), ("gzip; q=0.0, br", "gzip", false), ("*", "gzip", true),
            ("br, gzip", "gzip, br", true),
            ("gzip", "gzip, br", false), ("identity", "identity", true), ("identity", "UTF-8", false),
            ("gzip;q=0.5", "gzip", true),
            ("gzip;q=0, *", "gzip", false), ("*;q=0", "gzip", false), ("*, x-gzip;q=0", "gzip", false),
        ] as [(String?, String, Bool)])
    func `a field accepts codings`(_ field: String?, _ codings: String, isAccepted: Bool) {
        #expect(ContentCoding.accepts(field, codings) == isAccepted)
    }

    @Test func `a zstd window of more than 8 MiB is refused`() {
        // A frame header with such a window: 2^27 bytes (RFC 8878 §3.1.1.1.2).
        let frame: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x88, 0x01, 0x00, 0x00]
        guard case .failed(let said) = Self.decode(frame, "zstd", by: 100) else {
            Issue.record("there is no error")
            return
        }
        #expect(said.contains("memory"))
    }

    @Test(arguments: CompressibleBody.codings)
    func `each step is small for any amount of output`(_ coding: String) throws {
        let coded = try CompressibleBody.coded(coding)
        let decoder = ContentDecoder(ContentCoding.removable(coding))
        var (count, turns, allowance) = (0, 0, 1 << 20)
        unsafe coded.withUnsafeBytes { bytes in
            var input = unsafe bytes
            while true {
                let before = allowance
                switch unsafe decoder.step(&input, allowance: &allowance) {
                case .output(let put):
                    #expect(put <= ContentDecoder.stepSize)
                    count += put
                case .yieldsTurn:
                    #expect(before <= 0 && before > -2 * ContentDecoder.stepSize)
                    turns += 1
                    allowance = 1 << 20
                    continue
                case .needsInput:
                    return
                case .failed(let message):
                    return _ = Issue.record("\(message)")
                }
            }
        }
        #expect(count == CompressibleBody.size && decoder.isComplete)
        #expect(turns >= 99)
    }

    @Test func `decoding pauses for other work even without output`() throws {
        // 64 MiB of a frame that is to be skipped (RFC 8878 §3.1.2), of which gzip makes 64 KB.
        let deflater = try #require(Deflater(.gzip))
        var coded = deflater.compress(Data([0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 4]))
        for _ in 0..<64 { coded += deflater.compress(Data(count: 1 << 20)) }
        coded += deflater.finish()
        let decoder = ContentDecoder([.zstd, .gzip])
        var turns = 0
        unsafe coded.withUnsafeBytes { bytes in
            var input = unsafe bytes
            var allowance = 1 << 20
            while case .yieldsTurn = unsafe decoder.step(&input, allowance: &allowance) {
                turns += 1
                allowance = 1 << 20
            }
        }
        #expect(turns >= 64 && decoder.isComplete)
    }

    @Test func `the acceptable codings are the codings that libcurl decodes`() {
        #expect(ContentCoding.acceptable == "br;q=1.0, gzip;q=0.9, deflate;q=0.8, zstd;q=0.7")
    }

    // MARK: Decoding

    enum Outcome: Equatable {
        case whole([UInt8])
        case part([UInt8])
        case failed(String)
    }

    /// Decodes bytes that come in pieces; where others have their turns, what is left is kept as the engine does.
    static func decode(_ bytes: [UInt8], _ codings: String, by size: Int, allowance: Int = .max) -> Outcome {
        let list = ContentCoding.removable(codings)
        guard !list.isEmpty else { return .whole(bytes) }
        let decoder = ContentDecoder(list)
        var output: [UInt8] = []
        /// Returns whether there is a rest, or why it failed.
        func run(_ input: inout UnsafeRawBufferPointer) -> Outcome? {
            var left = allowance
            while true {
                switch unsafe decoder.step(&input, allowance: &left) {
                case .output(let count): unsafe output.append(contentsOf: decoder.output(count))
                case .yieldsTurn: return .part([])
                case .needsInput: return nil
                case .failed(let message): return .failed(message)
                }
            }
        }
        for start in stride(from: 0, to: bytes.count, by: size) {
            let outcome = unsafe Array(bytes[start..<min(start + size, bytes.count)]).withUnsafeBytes { bytes in
                var input = unsafe bytes
                var outcome = unsafe run(&input)
                while outcome == .part([]) { outcome = unsafe run(&input) }
                return outcome
            }
            if let outcome { return outcome }
        }
        return decoder.isComplete ? .whole(output) : .part(output)
    }

    static func deflated(_ bytes: [UInt8], _ format: DeflateRequestCompressor.Format = .gzip) -> [UInt8] {
        guard let deflater = Deflater(format) else { return [] }
        return Array(deflater.compress(Data(bytes)) + deflater.finish())
    }

    private static let gzip: [UInt8] = [
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8,
        0x40, 0x27, 0xb9, 0x00, 0x00, 0x88, 0x59, 0x0b, 0x18, 0x00, 0x00, 0x00,
    ]
    private static let zlib: [UInt8] = [
        0x78, 0x9c, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x27, 0xb9, 0x00, 0x70, 0xbe, 0x08, 0xbb,
    ]
    private static let raw = Array(zlib[2..<zlib.count - 4])
    private static let zstd: [UInt8] = [
        0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x6d, 0x00, 0x00, 0x38, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x20, 0x0a,
        0x01, 0x00, 0x99, 0x4b, 0x11, 0xa8, 0x7c, 0x2e, 0xa8,
    ]
    private static let brotli: [UInt8] = [
        0x1b, 0x17, 0x00, 0xf8, 0x8d, 0x94, 0x6e, 0xde, 0x44, 0x55, 0x86, 0xd6, 0x0a, 0x20, 0x6c, 0x6f, 0x4a,
        0x11, 0x79, 0xe2, 0x80, 0xae, 0x16,
    ]
    /// An uncompressed block with the bytes in gzip, and an empty one at the end (RFC 7932 §9.2).
    private static let brotliOfGzip = brotliStored(gzip)

    private static func brotliStored(_ bytes: [UInt8]) -> [UInt8] {
        // A window of 16 bits, not the last block, the length less one in 16 bits, uncompressed.
        let bits = (bytes.count - 1) << 4 | 1 << 20
        return [UInt8(bits & 0xff), UInt8(bits >> 8 & 0xff), UInt8(bits >> 16)] + bytes + [0x03]
    }
}
