import CZlib
import FoundationEssentials

/// Decodes gzip and deflate with zlib.
///
/// A gzip body consists of one or more members (RFC 1952 §2.2). A body in zlib's own format is accepted as well, as in
/// libcurl. A deflate body is in zlib's format (RFC 9110 §8.4.1.2). Some servers send it as raw deflate data, which is
/// accepted too.
///
/// In the raw format, streams may follow each other, and may refer to bytes of the streams before (RFC 7692 §7.2.3.5).
// Safety: this object owns the stream from its creation until `deinit`, and the stream does not move. Zlib receives
// pointers to other memory only within the call, together with its size.
@safe
final class Inflater: StepDecoder {
    enum Format: Equatable {
        case gzip
        case deflate
        case raw(windowBits: Int32)

        /// The number by which zlib selects the format.
        fileprivate var number: Int32 {
            switch self {
            case .gzip: 47  // 15 is the largest window; adding 32 detects gzip or zlib automatically.
            case .deflate: 15
            case .raw(let windowBits): -windowBits
            }
        }
    }

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
    /// Whether the bytes that ``decode(_:upTo:)`` has decoded are complete blocks.
    private(set) var isBetweenBlocks = false

    /// Creates a decoder; `nil` if there is not enough memory.
    init?(_ format: Format) {
        let made = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe made.initialize(to: z_stream())
        guard unsafe bb_inflate_init(made, format.number) == Z_OK else {
            // This must happen before the object owns the stream; otherwise, `deinit` would free it too.
            unsafe made.deallocate()
            return nil
        }
        unsafe stream = unsafe made
        self.format = format
        state = format == .deflate ? .awaitingFormat([]) : .inflating
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

    /// Decodes bytes until there are no more, or until the output has the given size; `nil` if they are malformed.
    ///
    /// If the output is smaller, all input was decoded.
    func decode(_ input: inout Data, upTo size: Int) -> [UInt8]? {
        var position = 0
        var isValid = true
        let output = unsafe input.withUnsafeBytes { input in
            unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
                let buffer = UnsafeMutableRawBufferPointer(buffer)
                repeat {
                    let (rest, room) = unsafe (input[position...], buffer[count..<size])
                    guard case .made(let taken, let put, _) = unsafe step(.init(rebasing: rest), .init(rebasing: room))
                    else { return isValid = false }
                    position += taken
                    count += put
                    // A call without any effect loses the flag.
                    if taken + put > 0 { isBetweenBlocks = unsafe stream.pointee.data_type & 128 != 0 }
                } while position < input.count && count < size
            }
        }
        input = input.dropFirst(position)
        return isValid ? output : nil
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
            if case .raw = format {
                unsafe inflateResetKeep(stream)
                return .made(taken: taken, put: put, isAtEnd: false)
            }
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
