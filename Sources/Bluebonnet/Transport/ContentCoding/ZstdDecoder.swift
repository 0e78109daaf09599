import CCurl

/// Decodes zstd (RFC 8878) with the library that libcurl uses.
// Safety: the state is this object's own from its making until `deinit`; the library sees pointers to other memory within
// the call only, together with its size.
@safe
final class ZstdDecoder {
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
        var words: UnsafePointer<CChar>?
        let result = unsafe withUnsafePointer(to: Self.library) { library in
            unsafe bb_zstd_decode(library, state, input.baseAddress, &left, output.baseAddress, &room, &words)
        }
        guard result != bb_decoder_failed else {
            return .failed(unsafe words.map { unsafe String(cString: $0) } ?? "zstd's error")
        }
        let isAtEnd = result == bb_decoder_at_end
        return .made(taken: input.count - left, put: output.count - room, isAtEnd: isAtEnd)
    }
}
