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
    init?(_ format: DeflateRequestCompressor.Format) {
        let made = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe made.initialize(to: z_stream())
        // 15 is the largest window size; adding 16 selects the gzip header and trailer.
        let status = unsafe bb_deflate_init(made, Z_DEFAULT_COMPRESSION, format == .gzip ? 31 : 15)
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
    func compress(_ bytes: Data) -> Data {
        unsafe bytes.withUnsafeBytes { input in
            // zlib does not write to its input.
            let start = unsafe input.bindMemory(to: UInt8.self).baseAddress
            return unsafe run(UnsafeMutablePointer(mutating: start), count: input.count, flush: Z_NO_FLUSH)
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
