import CCurl

/// Decodes brotli (RFC 7932) with the library that libcurl uses.
// Safety: the state is this object's own from its making until `deinit`; the library sees pointers to other memory within
// the call only, together with its size.
@safe
final class BrotliDecoder {
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
                return .failed(unsafe String(cString: bb_brotli_words(library, state)))
            }
            isAtEnd = result == bb_decoder_at_end
            return .made(taken: input.count - left, put: output.count - room, isAtEnd: isAtEnd)
        }
    }
}
