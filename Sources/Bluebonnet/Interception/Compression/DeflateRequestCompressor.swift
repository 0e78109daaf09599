public import FoundationEssentials

/// Compresses the bodies of requests, and sets their `Content-Encoding` (RFC 9110 §8.4).
///
/// Not every server accepts a compressed body, and a server can reject one only after receiving it. Use this only for
/// servers known to support it. A body in memory is compressed before the request is sent and has a `Content-Length`; a
/// file, a sequence or a form is compressed while it is sent, a piece at a time, and has none, which frames it as
/// chunks over HTTP/1.1 (RFC 9112 §7.1). A compressed body can be sent again if the body can. Bodies without bytes in
/// them are left alone.
public struct DeflateRequestCompressor: RequestInterceptor {
    /// Names a way to compress.
    public enum Format: Hashable, Sendable {
        /// The zlib format (RFC 1950), which HTTP calls "deflate" (RFC 9110 §8.4.1.2).
        case deflate
        /// The gzip format (RFC 1952; RFC 9110 §8.4.1.3), which more servers take.
        case gzip

        /// The name of the coding in `Content-Encoding`.
        package var rawValue: String {
            switch self {
            case .deflate: "deflate"
            case .gzip: "gzip"
            }
        }
    }

    /// Says how to treat a request that has a `Content-Encoding` already.
    public enum DuplicateHeaderBehavior: Hashable, Sendable {
        /// It fails with ``DuplicateHeaderError``, as the underlying error of `.adaptation`.
        case error
        /// Its body is compressed, and the field replaced.
        case replace
        /// It is sent as it is.
        case skip
    }

    /// The request has a `Content-Encoding` already.
    public struct DuplicateHeaderError: Error, Hashable, Described {
        /// What is wrong.
        package var text: String { "the request has a Content-Encoding already" }

        /// Creates the error.
        package init() {}
    }

    /// How bodies are compressed; `.deflate` by default.
    package let format: Format

    /// How a request that already has a `Content-Encoding` is handled; `.error` by default.
    package let duplicateHeaderBehavior: DuplicateHeaderBehavior

    /// Whether bodies that are not in memory are compressed, too; `true` by default.
    package let compressesStreamedBodies: Bool

    /// Says whether a body in memory is worth it; all are by default.
    package let shouldCompressBodyData: @Sendable (_ bodyData: Data) -> Bool

    /// Creates a compressor.
    ///
    /// - Parameters:
    ///   - format: How bodies are compressed.
    ///   - duplicateHeaderBehavior: How a request that already has a `Content-Encoding` is handled.
    ///   - compressesStreamedBodies: Whether bodies that are not in memory are compressed, too.
    ///   - shouldCompressBodyData: Says whether a body in memory is worth it, as `{ $0.count > 1024 }` does; all are by
    ///     default. Runs on the global pool.
    public init(
        format: Format = .deflate, duplicateHeaderBehavior: DuplicateHeaderBehavior = .error,
        compressesStreamedBodies: Bool = true,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) {
        self.format = format
        self.duplicateHeaderBehavior = duplicateHeaderBehavior
        self.compressesStreamedBodies = compressesStreamedBodies
        self.shouldCompressBodyData = shouldCompressBodyData
    }

    /// Compresses the request's body, if it has one.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - state: The state of the request, such as its session.
    /// - Returns: The request with a compressed body.
    /// - Throws: ``DuplicateHeaderError``, or `CancellationError` when its task is cancelled.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        guard let body = request.body, body.length != 0 else { return request }
        if request.headers.contains("Content-Encoding") {
            switch duplicateHeaderBehavior {
            case .error: throw DuplicateHeaderError()
            case .skip: return request
            case .replace: break
            }
        }
        guard body.data.map(shouldCompressBodyData) ?? compressesStreamedBodies else { return request }
        var compressed = request
        compressed.headers.update(.contentEncoding(format.rawValue))
        compressed.body = try await self.compressed(body)
        return compressed
    }

    private func compressed(_ body: RequestBody) async throws -> RequestBody {
        let source = CompressedBodySource(base: body, format: format)
        guard body.data != nil else { return .source(source) }
        var reader = try source.open().makeReader()
        var result = Data()
        while let piece = try await reader.next() {
            try Task.checkCancellation()
            result.append(piece)
        }
        return .data(result)
    }
}

extension RequestAdapter where Self == DeflateRequestCompressor {
    /// A compressor of the format "deflate" with the defaults.
    public static var deflateCompressor: DeflateRequestCompressor { DeflateRequestCompressor() }

    /// A compressor of the format "gzip" with the defaults.
    public static var gzipCompressor: DeflateRequestCompressor { DeflateRequestCompressor(format: .gzip) }

    /// A compressor of the format "deflate".
    ///
    /// - Parameters:
    ///   - duplicateHeaderBehavior: How a request that already has a `Content-Encoding` is handled.
    ///   - shouldCompressBodyData: Says whether a body in memory is worth it; all are by default. Runs on the global pool.
    /// - Returns: The compressor.
    package static func deflateCompressor(
        duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) -> DeflateRequestCompressor {
        DeflateRequestCompressor(
            duplicateHeaderBehavior: duplicateHeaderBehavior, shouldCompressBodyData: shouldCompressBodyData)
    }

    /// A compressor of the format "gzip".
    ///
    /// - Parameter duplicateHeaderBehavior: How a request that already has a `Content-Encoding` is handled.
    /// - Returns: The compressor.
    package static func gzipCompressor(
        duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior
    ) -> DeflateRequestCompressor {
        DeflateRequestCompressor(format: .gzip, duplicateHeaderBehavior: duplicateHeaderBehavior)
    }
}

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

/// Compresses what another reader reads, a limited number of bytes at a time.
private struct CompressingReader: BodyReader {
    private var base: any BodyReader
    private let format: DeflateRequestCompressor.Format
    private var deflater: Deflater?
    /// The bytes that were read and not compressed yet.
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
