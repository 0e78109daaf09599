import Bluebonnet
import CZlib
import FoundationEssentials

/// Decompresses with zlib the output of the library.
enum Inflation {
    struct Failure: Error, Equatable {
        let status: Int32
    }

    /// Returns the bytes that went in; throws unless there is one complete stream of the format, and nothing after it.
    static func inflate(_ data: Data, _ format: DeflateRequestCompressor.Format) throws -> Data {
        var stream = unsafe z_stream()
        guard unsafe bb_inflate_init(&stream, format == .gzip ? 31 : 15) == Z_OK else {
            throw Failure(status: Z_MEM_ERROR)
        }
        defer { unsafe inflateEnd(&stream) }
        var input = Array(data)
        var output: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 * 1024)
        var status = Z_OK
        unsafe input.withUnsafeMutableBufferPointer { input in
            unsafe stream.next_in = input.baseAddress
            unsafe stream.avail_in = UInt32(input.count)
            while status == Z_OK {
                var count = 0
                unsafe piece.withUnsafeMutableBufferPointer { piece in
                    unsafe stream.next_out = piece.baseAddress
                    unsafe stream.avail_out = UInt32(piece.count)
                    status = unsafe CZlib.inflate(&stream, Z_NO_FLUSH)
                    count = unsafe piece.count - Int(stream.avail_out)
                }
                output += piece.prefix(count)
            }
        }
        guard status == Z_STREAM_END, unsafe stream.avail_in == 0 else { throw Failure(status: status) }
        return Data(output)
    }
}

/// Bytes to compress.
enum Sample: String, CaseIterable, Sendable {
    case oneByte, short, zeros, text, noise, noiseOfManyPieces

    var data: Data {
        switch self {
        case .oneByte: Data([7])
        case .short: Data("a short note".utf8)
        case .zeros: Data(count: 3_000_000)
        case .text: Data(String(repeating: "the quick brown fox jumps over the lazy dog\n", count: 20_000).utf8)
        case .noise: Self.noise(1000)
        case .noiseOfManyPieces: Self.noise(700_001)
        }
    }

    /// Bytes that cannot be compressed.
    static func noise(_ count: Int) -> Data {
        var state: UInt64 = 0x9e37_79b9_7f4a_7c15
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            bytes.append(UInt8(truncatingIfNeeded: state >> 32))
        }
        return Data(bytes)
    }
}
