public import FoundationEssentials

/// A form with fields and files, sent as `multipart/form-data` (RFC 7578).
///
/// The form is a value type: appending to a copy does not change the original. Parts are sent in the order in which
/// they were appended. Files and sequences are read piece by piece while they are sent, so neither the form nor its
/// files have to fit into memory. The form is checked when it is opened, encoded or written. It then reports the first
/// invalid part, such as one with a missing file or with a name that cannot be sent.
///
/// ```swift
/// var form = MultipartFormData()
/// form.append("Texas", withName: "state")
/// form.append(photo, withName: "photo")
/// ```
///
/// ### How names are written
///
/// The names of fields and files are written as browsers write them, by the HTML standard's "multipart/form-data
/// encoding algorithm". They are in UTF-8, with `"` as `%22`, CR as `%0D` and LF as `%0A`. Nothing else is changed. In
/// field names, but not in file names, a lone CR or LF first becomes CR LF. `filename*` is never sent, because RFC
/// 7578 §4.2 forbids it.
///
/// This encoding is ambiguous, because percent signs and backslashes are not escaped. Yet servers are tested with it,
/// and they disagree about all alternatives. Bluebonnet is tested with these Python parsers:
/// - `multipart` decodes all three escapes.
/// - `werkzeug` decodes only `%22`.
/// - `python-multipart` and the standard library's `email` decode none.
///
/// The parsers that decode `%22` also do so if the original name contains `%22`. All except `multipart` treat a
/// backslash before a quote, or before any character, as an escape. Names should therefore not end with a backslash.
public struct MultipartFormData: Sendable {
    /// The boundary that separates the parts.
    public let boundary: String

    /// Whether the boundary was chosen by the user, and may occur in a part.
    private let isBoundaryChosen: Bool
    private var parts: [MultipartPart] = []

    /// Creates an empty form with a boundary of 128 random bits.
    public init() {
        boundary = Self.randomBoundary()
        isBoundaryChosen = false
    }

    /// Creates an empty form with a custom boundary.
    ///
    /// The boundary is checked when the form is opened. It must have 1 to 70 ASCII letters, digits, spaces and
    /// `'()+_,-./:=?`, and must not end with a space (RFC 2046 §5.1.1). While the parts are read, they are searched
    /// for the boundary, which must not occur in them. A random boundary does not need this search.
    ///
    /// - Parameter boundary: The boundary, without the hyphens before and after it.
    public init(boundary: String) {
        self.boundary = boundary
        isBoundaryChosen = true
    }

    /// Returns a boundary that almost certainly does not occur in any part.
    ///
    /// - Returns: A boundary with 128 random bits. It is a token, so it needs no quotes.
    package static func randomBoundary() -> String { "bluebonnet-\(FileName.token())\(FileName.token())" }

    /// The value of the `Content-Type` field: `multipart/form-data` with the boundary.
    public var contentType: String {
        "multipart/form-data; boundary=\(MultipartBoundary(text: boundary).parameterValue)"
    }

    /// Whether the form can be sent a second time, for example after a redirect.
    ///
    /// It is `false` if a part is a sequence that was appended directly, instead of through a closure that creates it.
    public var isReplayable: Bool { parts.allSatisfy(\.isReplayable) }

    /// The size of the form in bytes, including delimiters and header fields.
    ///
    /// Each call looks up the sizes of the files on the calling thread. The value is `nil` if a part is a sequence
    /// without a given length, or if the form cannot be sent.
    public var contentLength: Int64? {
        guard let length = try? length() else { return nil }
        return length
    }

    /// Returns the size of the form in bytes, including delimiters and header fields.
    ///
    /// Each call looks up the sizes of the files on the calling thread.
    ///
    /// - Returns: The size in bytes, or `nil` if a part is a sequence without a given length.
    /// - Throws: `.multipartEncoding` for the first part that cannot be sent, or for the boundary.
    package func length() throws(RequestError) -> Int64? {
        length(of: try preparedParts())
    }

    /// Checks all parts and prepares the form for reading.
    ///
    /// Every file is opened once as a check, and closed again. Its size must not change from then on. A sequence that
    /// can only be read once is used up by the first reader that requests a piece. Must not be called on the event
    /// loop.
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
        var prepared: [PreparedMultipartPart] = []
        prepared.reserveCapacity(parts.count)
        for part in parts { prepared.append(try part.prepared()) }
        return prepared
    }

    private func length(of parts: [PreparedMultipartPart]) -> Int64? {
        let boundary = MultipartBoundary(text: boundary)
        var total = Int64(boundary.closing(hasParts: !parts.isEmpty).utf8.count)
        for (index, part) in parts.enumerated() {
            guard let length = part.length else { return nil }
            let delimiter = index == 0 ? boundary.opening : boundary.delimiter
            let (sum, isTooLarge) = length.addingReportingOverflow(
                total + Int64(delimiter.utf8.count + part.head.count))
            // The given lengths add up to more than an `Int64` can hold.
            guard !isTooLarge else { return nil }
            total = sum
        }
        return total
    }
}

extension MultipartFormData {
    /// Appends a text field.
    ///
    /// The text is sent unchanged, as UTF-8 and without a `Content-Type`, which means `text/plain` (RFC 7578 §4.4).
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
    ///   - fileName: The name of the file. Without it, the part is a field, not a file.
    ///   - mimeType: The media type. Without it, no `Content-Type` is sent, which means `text/plain` (RFC 7578 §4.4).
    ///   - headers: More header fields for the part, which servers must ignore (RFC 7578 §4.8). `Content-Disposition`
    ///     is not allowed; nor is `Content-Type`, if there is a media type.
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
    /// The file name is the last component of the URL. The media type depends on the extension, by the system's table
    /// (`/etc/mime.types`, the shared MIME database) or a small built-in table. If the extension is unknown, it is
    /// `application/octet-stream`. The file is not accessed before the form is opened.
    ///
    /// - Parameters:
    ///   - fileURL: The URL of the file.
    ///   - name: The name of the field.
    public mutating func append(_ fileURL: URL, withName name: String) {
        append(MultipartPartHead(name: name), .file(fileURL, namesItself: true))
    }

    /// Appends a file with a custom name and media type.
    ///
    /// The file is not accessed before the form is opened.
    ///
    /// - Parameters:
    ///   - fileURL: The URL of the file.
    ///   - name: The name of the field.
    ///   - fileName: The file name to send.
    ///   - mimeType: The media type to send.
    ///   - headers: More header fields for the part, which servers must ignore (RFC 7578 §4.8). `Content-Disposition`
    ///     and `Content-Type` are not allowed.
    public mutating func append(
        _ fileURL: URL, withName name: String, fileName: String, mimeType: String, headers: HTTPHeaders = [:]
    ) {
        append(
            MultipartPartHead(name: name, fileName: fileName, mimeType: mimeType, headers: headers),
            .file(fileURL, namesItself: false))
    }

    /// Appends a field or a file with bytes from a sequence that can be read only once.
    ///
    /// Only one copy of the form can then be opened, and only once. It cannot be sent again after a redirect or for a
    /// retry. If a sequence ends early because its task was cancelled, the form ends with `.cancelled`.
    ///
    /// - Parameters:
    ///   - sequence: The chunks. Iteration begins when the part is sent.
    ///   - length: The number of bytes of the sequence. If it is `nil`, the length of the whole form is unknown. A
    ///     sequence with a different number of bytes is an error.
    ///   - name: The name of the field.
    ///   - fileName: The name of the file. Without it, the part is a field, not a file.
    ///   - mimeType: The media type. Without it, no `Content-Type` is sent, which means `text/plain` (RFC 7578 §4.4).
    ///   - headers: More header fields for the part, which servers must ignore (RFC 7578 §4.8). `Content-Disposition`
    ///     is not allowed; nor is `Content-Type`, if there is a media type.
    public mutating func append<S: AsyncSequence & Sendable>(
        _ sequence: S, length: Int64? = nil, withName name: String, fileName: String? = nil, mimeType: String? = nil,
        headers: HTTPHeaders = [:]
    ) where S.Element: DataProtocol & Sendable {
        append(
            MultipartPartHead(name: name, fileName: fileName, mimeType: mimeType, headers: headers),
            .sequence(SequenceSource(once: sequence, length: length)))
    }

    /// Appends a field or a file with bytes from a sequence that can be created any number of times.
    ///
    /// - Parameters:
    ///   - length: The number of bytes of each sequence. If it is `nil`, the length of the whole form is unknown. A
    ///     sequence with a different number of bytes is an error.
    ///   - name: The name of the field.
    ///   - fileName: The name of the file. Without it, the part is a field, not a file.
    ///   - mimeType: The media type. Without it, no `Content-Type` is sent, which means `text/plain` (RFC 7578 §4.4).
    ///   - headers: More header fields for the part, which servers must ignore (RFC 7578 §4.8). `Content-Disposition`
    ///     is not allowed; nor is `Content-Type`, if there is a media type.
    ///   - make: Returns a new sequence of all chunks. Called when the part is sent, outside the caller's actor.
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
    /// Returns the whole form in memory.
    ///
    /// Runs on the global pool. Use it for small forms; it is not needed for sending a form.
    ///
    /// - Returns: The bytes of the form.
    /// - Throws: ``RequestError`` with `.multipartEncoding` for the first part that cannot be sent, or with
    ///   `.cancelled`.
    @concurrent
    public func encode() async throws(RequestError) -> Data {
        let body = try open()
        var reader = body.makeReader()
        var bytes = Data()
        // A sequence may state any length, so memory is not reserved for all of it in advance.
        bytes.reserveCapacity(Int(min(body.length ?? 0, Self.reservationLimit)))
        while let piece = try await reader.nextPiece() { bytes.append(piece) }
        return bytes
    }

    /// Writes the form to a new file, piece by piece.
    ///
    /// Runs on the global pool. An existing file is not changed. If writing fails, the new file is removed.
    ///
    /// - Parameter fileURL: The URL of the file to create.
    /// - Throws: ``RequestError`` with `.multipartEncoding`: `.outputFileAlreadyExists`, `.outputFileURLInvalid`,
    ///   `.outputFileWriteFailed`, or the error of the first part that cannot be sent. If the task is cancelled,
    ///   ``RequestError`` with `.cancelled`.
    @concurrent
    public func write(to fileURL: URL) async throws(RequestError) {
        guard fileURL.isFileURL else {
            throw RequestError(.multipartEncoding(.outputFileURLInvalid(fileURL.redactedDescription)))
        }
        let path = fileURL.path(percentEncoded: false)
        // The file is created before the form is opened. If that fails, a sequence that can be read only once is not
        // used up.
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

    /// The maximum number of bytes that are reserved before any have been read.
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
