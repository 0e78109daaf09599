import FoundationEssentials

/// A body that is compressed while it is sent; how long it will be is not known before.
struct CompressedBodySource: RequestBodySource {
    let base: RequestBody
    let format: DeflateRequestCompressor.Format

    var length: Int64? { nil }

    var isReplayable: Bool { base.isReplayable }

    func open() throws(RequestError) -> OpenBody {
        guard let opened = try base.open() else {
            let data = base.data ?? Data()
            return OpenBody(length: nil, reader: CompressingReader(DataReader(data), format))
        }
        return OpenBody(length: nil, reader: CompressingReader(opened.makeReader(), format))
    }
}

/// Reads a body in memory in one piece.
private struct DataReader: BodyReader {
    private var rest: Data?

    init(_ data: Data) {
        rest = data.isEmpty ? nil : data
    }

    mutating func next() async throws -> Data? { rest.take() }
}

/// Compresses what another reader reads, a limited number of bytes at a time.
struct CompressingReader: BodyReader {
    private var base: any BodyReader
    private let format: DeflateRequestCompressor.Format
    private var deflater: Deflater?
    /// What was read and not taken in yet.
    private var rest = Data()
    private var isFinished = false

    init(_ base: any BodyReader, _ format: DeflateRequestCompressor.Format) {
        self.base = base
        self.format = format
    }

    mutating func next() async throws -> Data? {
        guard !isFinished else { return nil }
        let deflater = try unwrapped()
        while true {
            while !rest.isEmpty {
                let output = deflater.compress(takeInput())
                if !output.isEmpty { return output }
            }
            guard let piece = try await base.next() else {
                isFinished = true
                self.deflater = nil
                // The end of either format has several bytes.
                return deflater.finish()
            }
            rest = piece
        }
    }

    private mutating func unwrapped() throws(RequestError) -> Deflater {
        if let deflater { return deflater }
        guard let made = Deflater(format) else {
            throw RequestError(.internal, detail: "there is no memory to compress the request's body")
        }
        deflater = made
        return made
    }

    private mutating func takeInput() -> Data {
        let input = rest.prefix(Deflater.inputSize)
        rest = rest.dropFirst(input.count)
        // A slice of nothing would keep the piece.
        if rest.isEmpty { rest = Data() }
        return input
    }
}
