import CSystem

/// The result of one step of a decoder.
enum DecodingStep: Equatable {
    /// It took so many bytes in and put so many out; at the end, it takes no more.
    case made(taken: Int, put: Int, isAtEnd: Bool)
    case failed(String)
}

/// Decodes one coding, as far as its input and the room for its output go.
// Safety: the memory is the caller's, used within the call.
protocol StepDecoder: AnyObject {
    func step(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> DecodingStep
}

extension ContentCoding {
    /// Makes the decoder; `nil` when there is none, or no memory for it.
    func makeDecoder() -> (any StepDecoder)? {
        switch self {
        case .gzip: Inflater(.gzip)
        case .deflate: Inflater(.deflate)
        case .brotli: BrotliDecoder()
        case .zstd: ZstdDecoder()
        case .unknown: nil
        }
    }
}

/// Decodes brotli (RFC 7932) with the library that libcurl uses.
// Safety: the state is this object's own from its making until `deinit`; the library sees pointers to other memory
// within the call only, together with its size.
@safe
final class BrotliDecoder: StepDecoder {
    private static let library = bb_brotli_open()

    /// Whether the system has the library.
    static var isAvailable: Bool { unsafe library.create != nil }

    private let state: UnsafeMutableRawPointer
    private var isAtEnd = false

    /// Creates a decoder; `nil` when there is no library, or no memory.
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

/// Decodes zstd (RFC 8878) with the library that libcurl uses.
// Safety: the state is this object's own from its making until `deinit`; the library sees pointers to other memory
// within the call only, together with its size.
@safe
final class ZstdDecoder: StepDecoder {
    private static let library = bb_zstd_open()

    /// Whether the system has the library.
    static var isAvailable: Bool { unsafe library.create != nil }

    /// Windows of 8 MiB are the largest that content may ask for (RFC 9659 §3), and so what a decoder takes at most.
    private static let windowLog: Int32 = 23

    private let state: UnsafeMutableRawPointer

    /// Creates a decoder; `nil` when there is no library, or no memory.
    init?() {
        guard Self.isAvailable,
            let state = unsafe withUnsafePointer(to: Self.library, { unsafe bb_zstd_create($0, Self.windowLog) })
        else { return nil }
        unsafe self.state = unsafe state
    }

    deinit {
        unsafe withUnsafePointer(to: Self.library) { unsafe bb_zstd_destroy($0, state) }
    }

    /// Decodes; at the end of a frame, another one may follow.
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
