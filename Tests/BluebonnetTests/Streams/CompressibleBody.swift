import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// 100 MiB of highly compressible text, in 800 lines of 128 KiB each.
enum CompressibleBody {
    static let codings = ["gzip", "deflate", "br", "zstd"]
    static let lineCount = 800
    static let size = 100 << 20

    static let line = String(repeating: "a", count: size / lineCount - 1)

    static var decoded: Data {
        let line = Data((line + "\n").utf8)
        var body = Data(capacity: size)
        for _ in 0..<lineCount { body.append(line) }
        return body
    }

    /// The body in a coding: some 100 KB, 6 KB or 200 bytes.
    static func coded(_ coding: String) throws -> Data {
        switch coding {
        case "gzip": try deflated(.gzip)
        case "deflate": try deflated(.deflate)
        case "br": Data(brotli)
        case "zstd": Data(zstd)
        default: throw TestFailure("there is no \(coding)")
        }
    }

    /// Starts a server that has the body in each coding under its name.
    static func server() async throws -> LocalServer {
        let bodies = try codings.map { ($0, try coded($0)) }
        return try await LocalServer { router in
            for (coding, body) in bodies {
                router.get("/\(coding)", .data(body, contentType: "text/plain", headers: ["Content-Encoding": coding]))
            }
            router.get("/small", .text("small"))
        }
    }

    private static func deflated(_ format: DeflateRequestCompressor.Format) throws -> Data {
        let deflater = try #require(Deflater(format))
        let line = Data((line + "\n").utf8)
        var coded = Data()
        for _ in 0..<lineCount { coded += deflater.compress(line) }
        return coded + deflater.finish()
    }

    /// One frame (RFC 8878 §3.1.1): for each line a block that says "131,071 times a", and one with the line feed.
    private static var zstd: [UInt8] {
        let a = size / lineCount - 1
        func head(_ count: Int, _ type: Int, isLast: Bool = false) -> [UInt8] {
            let bits = count << 3 | type << 1 | (isLast ? 1 : 0)
            return [UInt8(bits & 0xff), UInt8(bits >> 8 & 0xff), UInt8(bits >> 16)]
        }
        var frame: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58]
        for number in 1...lineCount {
            frame += head(a, 1) + [0x61] + head(1, 0, isLast: number == lineCount) + [0x0a]
        }
        return frame
    }

    private static var brotli: [UInt8] {
        let digits = Array(brotliDigits)
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }

    /// The body as compressed by Google's encoder at level 9.
    private static let brotliDigits =
        "cbffff3f00a414c2eab1cb12405cb8f7018b7b1f20baf77b1e00e0ffff1f001200715800baf77ffcffff034002200e0b40f7"
        + "fe8fffff7f004800c46101e8defff1ffff0f000980382c00ddfb3ffeffff012001108705a07bffc7ffff3f002400e2b00074"
        + "effff8ffff078004401c1680eefd1fffffff00900088c302d0bdffe3ffff1f001200715800baf77ffcffff034002200e0b40"
        + "f7fe8fffff7f004800c46101e8deffe5ffff0f000980382c00ddfb1f"
}

/// The most memory that a process has had at one time.
enum PeakMemory {
    /// Starts a new measurement.
    static func begin() throws {
        try Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs"))
    }

    static func residentKiB() throws -> Int {
        let status = try String(decoding: Data(contentsOf: URL(filePath: "/proc/self/status")), as: UTF8.self)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(Int(line.split(whereSeparator: { !$0.isNumber }).first ?? ""))
    }
}
