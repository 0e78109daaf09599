public import FoundationEssentials

/// Compresses request bodies and sets the `Content-Encoding` field (RFC 9110 §8.4).
///
/// Some servers do not accept compressed request bodies, and respond with the status code 415. Use this interceptor
/// only for servers that support the compression format.
///
/// A body in memory is compressed before the request is sent, and has a `Content-Length`. Bodies from
/// files, sequences and forms are compressed piece by piece while they are sent, and have no `Content-Length`. HTTP/1.1
/// sends these bodies in chunks (RFC 9112 §7.1). A compressed body can be sent again if the original body can be sent
/// again. A body with a known length of 0 is not changed.
public struct DeflateRequestCompressor: RequestInterceptor {
    /// The compression formats.
    public enum Format: Hashable, Sendable {
        /// The zlib format (RFC 1950), which HTTP calls "deflate" (RFC 9110 §8.4.1.2).
        case deflate
        /// The gzip format (RFC 1952; RFC 9110 §8.4.1.3), which more servers support.
        case gzip

        /// The name of the coding in `Content-Encoding`.
        package var rawValue: String {
            switch self {
            case .deflate: "deflate"
            case .gzip: "gzip"
            }
        }
    }

    /// The ways to handle a request that already has a `Content-Encoding` field.
    public enum DuplicateHeaderBehavior: Hashable, Sendable {
        /// The request fails with `.adaptation`, with ``DuplicateHeaderError`` as the underlying error.
        case error
        /// The body is compressed, and the field is replaced.
        case replace
        /// The request is sent unchanged.
        case skip
    }

    /// The error of a request that already has a `Content-Encoding`.
    public struct DuplicateHeaderError: Error, Hashable, Described {
        /// A short description of the error.
        package var text: String { "the request has a Content-Encoding already" }

        /// Creates the error.
        package init() {}
    }

    /// The compression format; `.deflate` by default.
    package let format: Format

    /// The way to handle a request that already has a `Content-Encoding`; `.error` by default.
    package let duplicateHeaderBehavior: DuplicateHeaderBehavior

    /// Whether bodies that are not in memory are compressed too; `true` by default.
    package let compressesStreamedBodies: Bool

    /// Decides whether a body in memory is compressed; always `true` by default.
    package let shouldCompressBodyData: @Sendable (_ bodyData: Data) -> Bool

    /// Creates a compressor.
    ///
    /// - Parameters:
    ///   - format: The compression format; `.deflate` by default.
    ///   - duplicateHeaderBehavior: The way to handle a request that already has a `Content-Encoding`; `.error` by
    ///     default.
    ///   - compressesStreamedBodies: Whether bodies that are not in memory are compressed too; `true` by default.
    ///   - shouldCompressBodyData: A closure that decides whether a body in memory is compressed, such as
    ///     `{ $0.count > 1024 }`. By default, all bodies are compressed. The closure runs on the global executor.
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

    /// Compresses the body of the request, if it has one.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - state: The state of the request; the compressor does not use it.
    /// - Returns: The request with a compressed body, or the original request if the compressor leaves the body
    ///   unchanged.
    /// - Throws: ``DuplicateHeaderError``, `CancellationError` if the task is cancelled, or a ``RequestError`` if
    ///   there is not enough memory.
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
    /// A compressor for the "deflate" format with default settings.
    public static var deflateCompressor: DeflateRequestCompressor { DeflateRequestCompressor() }

    /// A compressor for the "gzip" format with default settings.
    public static var gzipCompressor: DeflateRequestCompressor { DeflateRequestCompressor(format: .gzip) }

    /// A compressor for the "deflate" format.
    ///
    /// - Parameters:
    ///   - duplicateHeaderBehavior: The way to handle a request that already has a `Content-Encoding`; `.error` by
    ///     default.
    ///   - shouldCompressBodyData: A closure that decides whether a body in memory is compressed. By default, all
    ///     bodies are compressed. The closure runs on the global executor.
    /// - Returns: A compressor with these settings.
    public static func deflateCompressor(
        duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) -> DeflateRequestCompressor {
        DeflateRequestCompressor(
            duplicateHeaderBehavior: duplicateHeaderBehavior, shouldCompressBodyData: shouldCompressBodyData)
    }

    /// A compressor for the "gzip" format.
    ///
    /// - Parameter duplicateHeaderBehavior: The way to handle a request that already has a `Content-Encoding`.
    /// - Returns: A compressor with this setting.
    public static func gzipCompressor(
        duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior
    ) -> DeflateRequestCompressor {
        DeflateRequestCompressor(format: .gzip, duplicateHeaderBehavior: duplicateHeaderBehavior)
    }
}

/// A body that is compressed while it is sent.
///
/// The length of the compressed body is not known in advance.
struct CompressedBodySource: RequestBodySource {
    let base: RequestBody
    let format: DeflateRequestCompressor.Format

    var length: Int64? { nil }

    var isReplayable: Bool { base.isReplayable }

    var usesFile: Bool { base.usesFile }

    func open() throws(RequestError) -> OpenBody {
        guard let opened = try base.open() else {
            let data = base.data ?? Data()
            return OpenBody(length: nil, reader: CompressingReader(DataReader(data), format))
        }
        return OpenBody(length: nil, reader: CompressingReader(opened.makeReader(), format))
    }
}

/// Compresses the pieces of another reader, with a limited number of bytes per step.
private struct CompressingReader: BodyReader {
    private var base: any BodyReader
    private let format: DeflateRequestCompressor.Format
    private var deflater: Deflater?
    /// The bytes that were read but not yet compressed.
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
                // Both formats end with several bytes, so the last piece is never empty.
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
        // An empty slice would keep the whole piece in memory.
        if rest.isEmpty { rest = Data() }
        return input
    }
}
