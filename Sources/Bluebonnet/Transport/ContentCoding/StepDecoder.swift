/// What one step of a decoder did.
enum DecodingStep: Equatable {
    /// It took so many bytes in and put so many out; at the end, it takes no more.
    case made(taken: Int, put: Int, isAtEnd: Bool)
    case failed(String)
}

/// Decodes one coding, as far as its input and the room for its output go.
// Safety: the memory is the caller's, used within the call.
enum StepDecoder {
    case inflate(Inflater)
    case brotli(BrotliDecoder)
    case zstd(ZstdDecoder)

    /// Creates the decoder; `nil` when there is none, or no memory for it.
    init?(_ coding: ContentCoding) {
        let made: StepDecoder? =
            switch coding {
            case .gzip: Inflater(.gzip).map { .inflate($0) }
            case .deflate: Inflater(.deflate).map { .inflate($0) }
            case .brotli: BrotliDecoder().map { .brotli($0) }
            case .zstd: ZstdDecoder().map { .zstd($0) }
            case .unknown: nil
            }
        guard let made else { return nil }
        self = made
    }

    func step(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> DecodingStep {
        switch self {
        case .inflate(let decoder): unsafe decoder.step(input, output)
        case .brotli(let decoder): unsafe decoder.step(input, output)
        case .zstd(let decoder): unsafe decoder.step(input, output)
        }
    }
}
