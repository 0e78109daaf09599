import CZlib

/// Decodes gzip and deflate with zlib.
///
/// A gzip body consists of one or more members (RFC 1952 §2.2). A body in zlib's own format is accepted as well, as in
/// libcurl. A deflate body is in zlib's format (RFC 9110 §8.4.1.2). Some servers send it as raw deflate data, which is
/// accepted too.
// Safety: this object owns the stream from its creation until `deinit`, and the stream does not move. Zlib receives
// pointers to other memory only within the call, together with its size.
@safe
final class Inflater: StepDecoder {
    enum Format { case gzip, deflate }

    private enum State {
        /// The first two bytes show whether the body has zlib's format.
        case awaitingFormat([UInt8])
        case inflating
        /// The given number of bytes is ignored, because libcurl skips four bytes after raw deflate data.
        case atEnd(ignored: Int)
    }

    private let stream: UnsafeMutablePointer<z_stream>
    private let format: Format
    private var state: State
    private var isRaw = false

    /// Creates a decoder; `nil` if there is not enough memory.
    init?(_ format: Format) {
        let made = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe made.initialize(to: z_stream())
        // 15 is the largest window; adding 32 detects gzip or zlib automatically.
        guard unsafe bb_inflate_init(made, format == .gzip ? 47 : 15) == Z_OK else {
            // This must happen before the object owns the stream; otherwise, `deinit` would free it too.
            unsafe made.deallocate()
            return nil
        }
        unsafe stream = unsafe made
        self.format = format
        state = format == .gzip ? .inflating : .awaitingFormat([])
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deinitialize(count: 1)
        unsafe stream.deallocate()
    }

    func step(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> DecodingStep {
        switch state {
        case .awaitingFormat(var first):
            let taken = min(input.count, 2 - first.count)
            unsafe first.append(contentsOf: input[..<taken])
            state = .awaitingFormat(first)
            guard first.count == 2 else { return .made(taken: taken, put: 0, isAtEnd: false) }
            isRaw = !Self.isZlibHead(first)
            if isRaw { unsafe inflateReset2(stream, -15) }
            state = .inflating
            let step = unsafe first.withUnsafeBytes { unsafe inflate($0, output) }
            guard case .made(_, let put, let isAtEnd) = step else { return step }
            return .made(taken: taken, put: put, isAtEnd: isAtEnd)
        case .inflating:
            return unsafe inflate(input, output)
        case .atEnd(let ignored):
            guard input.count > 0 else { return .made(taken: 0, put: 0, isAtEnd: true) }
            if format == .gzip {
                // The next bytes must be another member.
                unsafe inflateReset2(stream, 31)
                state = .inflating
                return unsafe inflate(input, output)
            }
            guard input.count <= ignored else { return .failed("there are bytes behind the end") }
            state = .atEnd(ignored: ignored - input.count)
            return .made(taken: input.count, put: 0, isAtEnd: true)
        }
    }

    private func inflate(
        _ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer
    ) -> DecodingStep {
        // Zlib only reads from this memory.
        let start = unsafe UnsafeMutableRawPointer(mutating: input.baseAddress)
        unsafe stream.pointee.next_in = start?.assumingMemoryBound(to: UInt8.self)
        unsafe stream.pointee.avail_in = UInt32(input.count)
        unsafe stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        unsafe stream.pointee.avail_out = UInt32(output.count)
        let status = unsafe CZlib.inflate(stream, Z_SYNC_FLUSH)
        let taken = unsafe input.count - Int(stream.pointee.avail_in)
        let put = unsafe output.count - Int(stream.pointee.avail_out)
        unsafe stream.pointee.next_in = nil
        unsafe stream.pointee.next_out = nil
        switch status {
        case Z_OK, Z_BUF_ERROR:
            return .made(taken: taken, put: put, isAtEnd: false)
        case Z_STREAM_END:
            state = .atEnd(ignored: isRaw ? 4 : 0)
            return .made(taken: taken, put: put, isAtEnd: true)
        default:
            let message = unsafe stream.pointee.msg.map { unsafe String(cString: $0) }
            return .failed(message ?? "zlib's error \(status)")
        }
    }

    /// Whether two bytes are the start of zlib's format, by their method, window and checksum (RFC 1950 §2.2).
    private static func isZlibHead(_ bytes: [UInt8]) -> Bool {
        bytes[0] & 0x0f == 8 && bytes[0] >> 4 <= 7 && (Int(bytes[0]) << 8 | Int(bytes[1])) % 31 == 0
    }
}
