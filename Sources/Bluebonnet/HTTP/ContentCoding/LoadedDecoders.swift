import CSystem

/// The result of one step of a decoder.
enum DecodingStep: Equatable {
    /// The decoder consumed and produced the given numbers of bytes; after the end, it consumes no bytes.
    case made(taken: Int, put: Int, isAtEnd: Bool)
    case failed(String)
}

/// A decoder of one coding, which processes as much input as it can.
// Safety: the memory belongs to the caller and is used only within the call.
protocol StepDecoder: AnyObject {
    func step(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> DecodingStep
}

extension ContentCoding {
    /// Creates the decoder; `nil` if it is not available, or if there is not enough memory.
    func makeDecoder() -> (any StepDecoder)? {
        switch self {
        case .gzip: Inflater(.gzip)
        case .deflate: Inflater(.deflate)
        case .brotli: BrotliDecoder()
        case .zstd: ZstdDecoder()
        case .unavailable: nil
        }
    }
}

/// Decodes brotli (RFC 7932) with the same library as libcurl.
// Safety: this object owns the state from its creation until `deinit`. The library receives pointers to other memory
// only within the call, together with its size.
@safe
final class BrotliDecoder: StepDecoder {
    private static let library = bb_brotli_open()

    /// Whether the library is installed.
    static var isAvailable: Bool { unsafe library.create != nil }

    private let state: UnsafeMutableRawPointer
    private var isAtEnd = false

    /// Creates a decoder; `nil` if the library is not installed, or if there is not enough memory.
    init?() {
        guard Self.isAvailable,
            let state = unsafe withUnsafePointer(to: Self.library, { unsafe bb_brotli_create($0) })
        else { return nil }
        unsafe self.state = unsafe state
    }

    deinit {
        unsafe withUnsafePointer(to: Self.library) { unsafe bb_brotli_destroy($0, state) }
    }

    func step(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> DecodingStep {
        guard !isAtEnd else {
            return input.count == 0 ? .made(taken: 0, put: 0, isAtEnd: true) : .failed("there are bytes behind the end")
        }
        var (left, room) = (input.count, output.count)
        return unsafe withUnsafePointer(to: Self.library) { library in
            let result = unsafe bb_brotli_decode(
                library, state, input.baseAddress, &left, output.baseAddress, &room)
            guard result != bb_decoder_failed else {
                return .failed(unsafe String(cString: bb_brotli_message(library, state)))
            }
            isAtEnd = result == bb_decoder_at_end
            return .made(taken: input.count - left, put: output.count - room, isAtEnd: isAtEnd)
        }
    }
}

/// Decodes zstd (RFC 8878) with the same library as libcurl.
// Safety: this object owns the state from its creation until `deinit`. The library receives pointers to other memory
// only within the call, together with its size.
@safe
final class ZstdDecoder: StepDecoder {
    private static let library = bb_zstd_open()

    /// Whether the library is installed.
    static var isAvailable: Bool { unsafe library.create != nil }

    /// The maximum size of a window is 8 MiB (RFC 9659 §3), which limits the memory of a decoder.
    private static let windowLog: Int32 = 23

    private let state: UnsafeMutableRawPointer

    /// Creates a decoder; `nil` if the library is not installed, or if there is not enough memory.
    init?() {
        guard Self.isAvailable,
            let state = unsafe withUnsafePointer(to: Self.library, { unsafe bb_zstd_create($0, Self.windowLog) })
        else { return nil }
        unsafe self.state = unsafe state
    }

    deinit {
        unsafe withUnsafePointer(to: Self.library) { unsafe bb_zstd_destroy($0, state) }
    }

    /// Decodes the next bytes; a frame may be followed by another frame.
    func step(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> DecodingStep {
        var (left, room) = (input.count, output.count)
        var message: UnsafePointer<CChar>?
        let result = unsafe withUnsafePointer(to: Self.library) { library in
            unsafe bb_zstd_decode(library, state, input.baseAddress, &left, output.baseAddress, &room, &message)
        }
        guard result != bb_decoder_failed else {
            return .failed(unsafe message.map { unsafe String(cString: $0) } ?? "zstd's error")
        }
        let isAtEnd = result == bb_decoder_at_end
        return .made(taken: input.count - left, put: output.count - room, isAtEnd: isAtEnd)
    }
}
