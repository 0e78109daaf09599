private import CZlib
import FoundationEssentials

/// Compresses bytes as they come, with zlib.
///
/// Belongs to one task at a time. What it holds does not grow with the number of bytes: about 260 KiB, and the piece that
/// is being made.
// Safety: the stream is this object's own from its making until `deinit`, and does not move; zlib sees pointers to other
// memory within the calls below only, together with its size.
@safe
final class Deflater {
    private let stream: UnsafeMutablePointer<z_stream>

    /// How many bytes go in at a time; the output for them is one piece.
    static let inputSize = 128 * 1024
    private static let outputSize = 64 * 1024

    /// Creates a compressor; `nil` when there is no memory for it.
    init?(_ format: DeflateRequestCompressor.Format) {
        let made = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe made.initialize(to: z_stream())
        // 15 is the largest window, and 16 more ask for gzip's head and tail.
        let status = unsafe bb_deflate_init(made, Z_DEFAULT_COMPRESSION, format == .gzip ? 31 : 15)
        guard status == Z_OK else {
            // Before the object has it, or `deinit` would end it, too.
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

    /// Takes bytes in, at most ``inputSize`` at a time, and returns what comes out, which may be nothing yet.
    func compress(_ bytes: Data) -> Data {
        unsafe bytes.withUnsafeBytes { input in
            // zlib does not write there.
            let start = unsafe input.bindMemory(to: UInt8.self).baseAddress
            return unsafe run(UnsafeMutablePointer(mutating: start), count: input.count, flush: Z_NO_FLUSH)
        }
    }

    /// Returns the rest of the output, with the end of the format; nothing may go in afterwards.
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
                // Its status only tells whether there was something to do.
                unsafe _ = deflate(stream, flush)
                room = Int(unsafe stream.pointee.avail_out)
                written = buffer.count - room
            }
            output.append(contentsOf: piece)
            // With room left over, zlib has nothing more to say.
        } while room == 0
        unsafe stream.pointee.next_in = nil
        unsafe stream.pointee.next_out = nil
        return output
    }
}
