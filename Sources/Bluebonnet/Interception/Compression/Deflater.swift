private import CZlib
import FoundationEssentials

/// Compresses bytes piece by piece with zlib.
///
/// Only one task may use it at a time. It uses about 260 KiB of memory, plus the current piece of output.
// Safety: The stream belongs to this object until `deinit`, and does not move. zlib receives pointers to other memory,
// together with their sizes, only for the duration of the calls below.
@safe
final class Deflater {
    private let stream: UnsafeMutablePointer<z_stream>

    /// The maximum number of bytes for one call; the output of one call is one piece.
    static let inputSize = 128 * 1024
    private static let outputSize = 64 * 1024

    /// Creates a compressor, or returns `nil` if there is not enough memory.
    convenience init?(_ format: DeflateRequestCompressor.Format) {
        // 15 is the largest window size; adding 16 selects the gzip header and trailer.
        self.init(windowBits: format == .gzip ? 31 : 15)
    }

    /// Creates a compressor for a format that zlib selects by the number, or returns `nil` if there is not enough
    /// memory.
    ///
    /// A negative number selects raw deflate data (RFC 1951).
    init?(windowBits: Int32) {
        let made = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe made.initialize(to: z_stream())
        let status = unsafe bb_deflate_init(made, Z_DEFAULT_COMPRESSION, windowBits)
        guard status == Z_OK else {
            // `deinit` does not run, because the property is not set yet.
            unsafe made.deallocate()
            return nil
        }
        unsafe stream = unsafe made
    }

    deinit {
        unsafe deflateEnd(stream)
        unsafe stream.deinitialize(count: 1)
        unsafe stream.deallocate()
    }

    /// Compresses at most ``inputSize`` bytes, and returns the output so far, which may be empty.
    ///
    /// With a flush, the output so far can be decoded completely. It ends with an empty block, whose last bytes are
    /// `00 00 ff ff`. It is empty if there were no bytes since the last flush.
    func compress(_ bytes: Data, flushes: Bool = false) -> Data {
        unsafe bytes.withUnsafeBytes { input in
            // zlib does not write to its input.
            let start = unsafe input.bindMemory(to: UInt8.self).baseAddress
            let flush = flushes ? Z_SYNC_FLUSH : Z_NO_FLUSH
            return unsafe run(UnsafeMutablePointer(mutating: start), count: input.count, flush: flush)
        }
    }

    /// Returns the rest of the output, including the end of the format.
    ///
    /// No bytes may be compressed afterwards.
    func finish() -> Data { unsafe run(nil, count: 0, flush: Z_FINISH) }

    private func run(_ input: UnsafeMutablePointer<UInt8>?, count: Int, flush: Int32) -> Data {
        unsafe stream.pointee.next_in = unsafe input
        unsafe stream.pointee.avail_in = UInt32(count)
        var output = Data()
        var room = 0
        repeat {
            let piece = unsafe [UInt8](unsafeUninitializedCapacity: Self.outputSize) { buffer, written in
                unsafe stream.pointee.next_out = buffer.baseAddress
                unsafe stream.pointee.avail_out = UInt32(buffer.count)
                // The status only reports whether zlib made progress.
                unsafe _ = deflate(stream, flush)
                room = Int(unsafe stream.pointee.avail_out)
                written = buffer.count - room
            }
            output.append(contentsOf: piece)
            // If there is room left, zlib has no more output.
        } while room == 0
        unsafe stream.pointee.next_in = nil
        unsafe stream.pointee.next_out = nil
        return output
    }
}
