public import FoundationEssentials

/// A form with fields and files, which is sent as `multipart/form-data` (RFC 7578).
///
/// Each field or file is a part of the form. The form is a value type, so appending to a copy does not change the
/// original. Bluebonnet sends the parts in the order in which you append them. Bluebonnet reads files and sequences in
/// pieces while it sends the form, so large files do not have to fit into memory. Bluebonnet validates the form when
/// the form is sent, encoded or written. Validation fails for the first invalid part, such as a part with a missing
/// file or an invalid header field.
///
/// ```swift
/// var form = MultipartFormData()
/// form.append("Texas", withName: "state")
/// form.append(photo, withName: "photo")
/// ```
///
/// ### How names are written
///
/// The names of fields and files are encoded in the same way as in browsers. The HTML standard defines this encoding as
/// the "multipart/form-data encoding algorithm". Names are in UTF-8, and `"` becomes `%22`, CR becomes `%0D`, and LF
/// becomes `%0A`. All other characters are unchanged. In field names, but not in file names, a lone CR or LF first
/// becomes CR LF. `filename*` is never sent, because RFC 7578 §4.2 forbids it.
///
/// This encoding is ambiguous, because percent signs and backslashes are not escaped. However, servers are tested with
/// the names that browsers send. Servers disagree about all other encodings. Bluebonnet is tested with these Python
/// parsers:
/// - `multipart` decodes all three escapes.
/// - `werkzeug` decodes only `%22`.
/// - `python-multipart` and the standard library's `email` decode no escapes.
///
/// The parsers that decode `%22` to `"` also do this if the original name contains `%22`. The parsers other than
/// `multipart` treat a backslash before a quote as an escape. Names should therefore not end with a backslash.
public struct MultipartFormData: Sendable {
    /// The boundary that separates the parts.
    public let boundary: String

    /// Whether the boundary was passed by the user, so it may occur in a part.
    private let isBoundaryChosen: Bool
    private var parts: [MultipartPart] = []

    /// Creates an empty form with a boundary of 128 random bits.
    public init() {
        boundary = Self.randomBoundary()
        isBoundaryChosen = false
    }

    /// Creates an empty form with a custom boundary.
    ///
    /// The boundary must consist of 1 to 70 ASCII letters, digits, spaces and `'()+_,-./:=?`, and must not end with a
    /// space (RFC 2046 §5.1.1). The boundary must not occur in a part. The boundary is validated when the form is sent,
    /// encoded or written. While Bluebonnet reads the parts, it searches them for a custom boundary. If a part contains
    /// the boundary, sending, encoding or writing fails with `.multipartEncoding(.boundaryInvalid)`. A random boundary
    /// does not need this search.
    ///
    /// - Parameter boundary: The boundary, without the hyphens before and after it.
    public init(boundary: String) {
        self.boundary = boundary
        isBoundaryChosen = true
    }

    /// Returns a boundary that almost certainly does not occur in any part.
    ///
    /// - Returns: A boundary with 128 random bits. The boundary is a token, so it needs no quotes.
    package static func randomBoundary() -> String { "bluebonnet-\(FileName.token())\(FileName.token())" }

    package static let mediaType = "multipart/form-data"

    /// The value of the `Content-Type` field: `multipart/form-data` with the boundary.
    public var contentType: String {
        "\(Self.mediaType); boundary=\(MultipartBoundary(text: boundary).parameterValue)"
    }

    /// Whether the form can be sent a second time, for example after a redirect.
    ///
    /// If a part is a sequence that can be read only once, the value is `false`. If a closure creates the sequence, the
    /// part can be read again.
    public var isReplayable: Bool { parts.allSatisfy(\.isReplayable) }

    var usesFile: Bool { parts.contains { if case .file = $0.source { true } else { false } } }

    /// The size of the form in bytes, including delimiters and header fields.
    ///
    /// Each access reads the sizes of the files on the calling thread. The value is `nil` if a part is a sequence
    /// without a given length, or if the form cannot be sent.
    public var contentLength: Int64? { try? length() }

    /// Returns the size of the form in bytes, including delimiters and header fields.
    ///
    /// Each call reads the sizes of the files on the calling thread.
    ///
    /// - Returns: The size in bytes, or `nil` if a part is a sequence without a given length.
    /// - Throws: `.multipartEncoding` for the first part that cannot be sent, or for the boundary.
    package func length() throws(RequestError) -> Int64? {
        length(of: try preparedParts())
    }

    /// Checks all parts and prepares the form to be read.
    ///
    /// The method opens and closes every file once as a check. The sizes of the files must not change afterwards. The
    /// first reader that requests a piece claims all sequences that can be read only once. The method must not be
    /// called on the event loop.
    ///
    /// - Throws: `.multipartEncoding` for the first part that cannot be sent, or for the boundary.
    package func open() throws(RequestError) -> OpenBody {
        let prepared = try preparedParts()
        for part in prepared { try part.checkIsLeft() }
        return OpenBody(
            length: length(of: prepared),
            reader: MultipartReader(
                boundary: MultipartBoundary(text: boundary), parts: prepared, searchesBoundary: isBoundaryChosen))
    }

    private mutating func append(_ head: MultipartPartHead, _ source: MultipartPart.Source) {
        parts.append(MultipartPart(head: head, source: source))
    }

    private func preparedParts() throws(RequestError) -> [PreparedMultipartPart] {
        guard MultipartBoundary(text: boundary).isValid else {
            throw RequestError(.multipartEncoding(.boundaryInvalid(boundary)))
        }
        return try parts.map { (part) throws(RequestError) in try part.prepared() }
    }

    private func length(of parts: [PreparedMultipartPart]) -> Int64? {
        let boundary = MultipartBoundary(text: boundary)
        var total = Int64(boundary.closing(hasParts: !parts.isEmpty).utf8.count)
        for (index, part) in parts.enumerated() {
            guard let length = part.length else { return nil }
            let delimiter = index == 0 ? boundary.opening : boundary.delimiter
            let (sum, isTooLarge) = length.addingReportingOverflow(
                total + Int64(delimiter.utf8.count + part.head.count))
            // The sum of the given lengths overflows an `Int64`.
            guard !isTooLarge else { return nil }
            total = sum
        }
        return total
    }
}

extension MultipartFormData {
    /// Appends a text field.
    ///
    /// The text is sent as UTF-8. The part has no `Content-Type`, so its media type is `text/plain` (RFC 7578 §4.4).
    ///
    /// - Parameters:
    ///   - text: The value of the field.
    ///   - name: The name of the field.
    public mutating func append(_ text: String, withName name: String) {
        append(MultipartPartHead(name: name), .data(Data(text.utf8)))
    }

    /// Appends a field or a file with bytes in memory.
    ///
    /// - Parameters:
    ///   - data: The bytes of the field or file.
    ///   - name: The name of the field.
    ///   - fileName: The name of the file; `nil`, the default, for a field that is not a file.
    ///   - mimeType: The media type of the part. With `nil`, the default, the part has no `Content-Type`, so its media
    ///     type is `text/plain` (RFC 7578 §4.4).
    ///   - headers: More header fields for the part. Servers must ignore these fields (RFC 7578 §4.8).
    ///     `Content-Disposition` is not allowed. If there is a media type, `Content-Type` is not allowed either.
    public mutating func append(
        _ data: Data, withName name: String, fileName: String? = nil, mimeType: String? = nil,
        headers: HTTPHeaders = [:]
    ) {
        append(
            MultipartPartHead(name: name, fileName: fileName, mimeType: mimeType, headers: headers),
            .data(data))
    }

    /// Appends a file with its own name.
    ///
    /// The file name is the last component of the URL. The media type depends on the file extension. Bluebonnet looks
    /// up the extension in the system's tables (`/etc/mime.types` and the shared MIME database) and in a small built-in
    /// table. If the extension is unknown, the media type is `application/octet-stream`. This method does not access
    /// the file.
    ///
    /// - Parameters:
    ///   - fileURL: The URL of the file.
    ///   - name: The name of the field.
    public mutating func append(_ fileURL: URL, withName name: String) {
        append(MultipartPartHead(name: name), .file(fileURL, namesItself: true))
    }

    /// Appends a file with a custom name and media type.
    ///
    /// This method does not access the file.
    ///
    /// - Parameters:
    ///   - fileURL: The URL of the file.
    ///   - name: The name of the field.
    ///   - fileName: The file name to send.
    ///   - mimeType: The media type to send.
    ///   - headers: More header fields for the part. Servers must ignore these fields (RFC 7578 §4.8).
    ///     `Content-Disposition` and `Content-Type` are not allowed.
    public mutating func append(
        _ fileURL: URL, withName name: String, fileName: String, mimeType: String, headers: HTTPHeaders = [:]
    ) {
        append(
            MultipartPartHead(name: name, fileName: fileName, mimeType: mimeType, headers: headers),
            .file(fileURL, namesItself: false))
    }

    /// Appends a field or a file with bytes from a sequence that can be read only once.
    ///
    /// After this call, the form and all its copies together can be sent, encoded or written only once. The form cannot
    /// be sent again after a redirect or for a retry. If the sequence throws a `CancellationError`, or if the task that
    /// reads the sequence is cancelled, sending, encoding or writing fails with `.cancelled`.
    ///
    /// - Parameters:
    ///   - sequence: The bytes of the part, in chunks. Iteration begins when the part is sent, encoded or written.
    ///   - length: The number of bytes of the sequence. With `nil`, the default, the length of the whole form is
    ///     unknown. If you pass a length, and the sequence has more or fewer bytes, sending, encoding or writing fails.
    ///   - name: The name of the field.
    ///   - fileName: The name of the file; `nil`, the default, for a field that is not a file.
    ///   - mimeType: The media type of the part. With `nil`, the default, the part has no `Content-Type`, so its media
    ///     type is `text/plain` (RFC 7578 §4.4).
    ///   - headers: More header fields for the part. Servers must ignore these fields (RFC 7578 §4.8).
    ///     `Content-Disposition` is not allowed. If there is a media type, `Content-Type` is not allowed either.
    public mutating func append<S: AsyncSequence & Sendable>(
        _ sequence: S, length: Int64? = nil, withName name: String, fileName: String? = nil, mimeType: String? = nil,
        headers: HTTPHeaders = [:]
    ) where S.Element: DataProtocol & Sendable {
        append(
            MultipartPartHead(name: name, fileName: fileName, mimeType: mimeType, headers: headers),
            .sequence(SequenceSource(once: sequence, length: length)))
    }

    /// Appends a field or a file with bytes from a sequence that a closure creates each time the form is sent.
    ///
    /// - Parameters:
    ///   - length: The number of bytes of each sequence. With `nil`, the default, the length of the whole form is
    ///     unknown. If you pass a length, and a sequence has more or fewer bytes, sending, encoding or writing fails.
    ///   - name: The name of the field.
    ///   - fileName: The name of the file; `nil`, the default, for a field that is not a file.
    ///   - mimeType: The media type of the part. With `nil`, the default, the part has no `Content-Type`, so its media
    ///     type is `text/plain` (RFC 7578 §4.4).
    ///   - headers: More header fields for the part. Servers must ignore these fields (RFC 7578 §4.8).
    ///     `Content-Disposition` is not allowed. If there is a media type, `Content-Type` is not allowed either.
    ///   - make: A closure that returns a new sequence with all bytes of the part. Bluebonnet calls the closure on the
    ///     global executor each time the part is sent, encoded or written.
    public mutating func append<S: AsyncSequence & SendableMetatype>(
        length: Int64? = nil, withName name: String, fileName: String? = nil, mimeType: String? = nil,
        headers: HTTPHeaders = [:], _ make: @escaping @Sendable () -> S
    ) where S.Element: DataProtocol & Sendable {
        append(
            MultipartPartHead(name: name, fileName: fileName, mimeType: mimeType, headers: headers),
            .sequence(SequenceSource(length: length, make: make)))
    }
}

extension MultipartFormData {
    /// Returns the bytes of the whole form.
    ///
    /// The method runs on the global executor. The result is in memory, so use this method only for small forms. You do
    /// not need this method to send a form.
    ///
    /// - Returns: The bytes of the form.
    /// - Throws: A ``RequestError`` with `.multipartEncoding` for the first part that cannot be sent, or with
    ///   `.cancelled` if the task is cancelled.
    @concurrent
    public func encode() async throws(RequestError) -> Data {
        let body = try open()
        var reader = body.makeReader()
        var bytes = Data()
        // The stated length of a sequence may be wrong, so only a limited amount of memory is reserved.
        bytes.reserveCapacity(Int(min(body.length ?? 0, Self.reservationLimit)))
        while let piece = try await reader.nextPiece() { bytes.append(piece) }
        return bytes
    }

    /// Writes the form to a new file, piece by piece.
    ///
    /// The method runs on the global executor. It does not replace an existing file. If writing fails, the method
    /// removes the new file.
    ///
    /// - Parameter fileURL: The URL of the file to create.
    /// - Throws: A ``RequestError`` with `.multipartEncoding` if a part cannot be sent or the file cannot be written,
    ///   or with `.cancelled` if the task is cancelled. If the file cannot be written, the reason is
    ///   `.outputFileAlreadyExists`, `.outputFileURLInvalid` or `.outputFileWriteFailed`.
    @concurrent
    public func write(to fileURL: URL) async throws(RequestError) {
        guard fileURL.isFileURL else {
            throw RequestError(.multipartEncoding(.outputFileURLInvalid(fileURL.redactedDescription)))
        }
        let path = fileURL.path(percentEncoded: false)
        // The file is created before the form is opened. If creating the file fails, no sequence that can be read only
        // once is claimed.
        let file = try Self.writing(to: path) { () throws(SystemError) in
            try OpenFile.creating(path, mode: 0o666)
        }
        var position: Int64 = 0
        do throws(RequestError) {
            var reader = try open().makeReader()
            while let piece = try await reader.nextPiece() {
                try Self.writing(to: path) { () throws(SystemError) in try file.write(piece, at: &position) }
            }
            try Self.writing(to: path) { () throws(SystemError) in try file.close() }
        } catch {
            FileSystem.remove(path)
            throw error
        }
    }

    /// The maximum number of bytes that are reserved before reading begins.
    private static let reservationLimit: Int64 = 16 << 20

    private static func writing<Value>(
        to path: String, _ body: () throws(SystemError) -> Value
    ) throws(RequestError) -> Value {
        do {
            return try body()
        } catch {
            guard !error.fileExists else {
                throw RequestError(.multipartEncoding(.outputFileAlreadyExists(path)))
            }
            throw RequestError(.multipartEncoding(.outputFileWriteFailed(path)), detail: error.message)
        }
    }
}

extension BodyReader {
    /// Returns the next piece of a form; throws if the task has been cancelled.
    fileprivate mutating func nextPiece() async throws(RequestError) -> Data? {
        guard !Task.isCancelled else { throw RequestError(.cancelled) }
        do {
            return try await next()
        } catch {
            throw error as? RequestError ?? RequestError(.internal, detail: "\(error)")
        }
    }
}
