public import FoundationEssentials

/// Holds a form whose fields and files are sent as `multipart/form-data` (RFC 7578).
///
/// A value: a copy that is appended to leaves the original as it is. Parts are sent in the order in which they were
/// appended. They are read when they are sent, piece by piece, from where they are; neither the form nor a file of it has
/// to fit into memory. What is wrong with a part (a file that is missing, a name that cannot be sent) is reported when
/// the form is opened, encoded or written, the first one of all.
///
/// ```swift
/// var form = MultipartFormData()
/// form.append("Texas", withName: "state")
/// form.append(photo, withName: "photo")
/// ```
///
/// ### How names are written
///
/// Names of fields and files are written as browsers do, by the HTML standard's "multipart/form-data encoding algorithm":
/// UTF-8, with `"` as `%22`, CR as `%0D` and LF as `%0A`, and nothing else changed. In the name of a field, a CR or LF
/// that stands alone becomes CR LF first; in the name of a file it does not. There is never a `filename*`, which RFC 7578
/// §4.2 forbids.
///
/// The rule loses something: percent signs and backslashes are not escaped. But it is what servers are tried with, and
/// they disagree about any other. Of the parsers that Bluebonnet is tested with, all of them Python's, `multipart` undoes
/// the three escapes, `werkzeug` only `%22`, `python-multipart` and the standard library's `email` none; those that undo
/// `%22` do so also where it was in the name. All but `multipart` take a backslash before a quote, or before any
/// character, for an escape: do not let a name end with one.
public struct MultipartFormData: Sendable {
    /// What separates the parts.
    public let boundary: String

    /// Whether the boundary is the user's own, and might be in a part.
    private let isBoundaryChosen: Bool
    private var parts: [MultipartPart] = []

    /// Creates an empty form with a boundary of 128 random bits.
    public init() {
        boundary = Self.randomBoundary()
        isBoundaryChosen = false
    }

    /// Creates an empty form with a custom boundary.
    ///
    /// The boundary is checked when the form is opened: 1 to 70 ASCII letters, digits, spaces and `'()+_,-./:=?`, no space
    /// at the end (RFC 2046 §5.1.1). That no part holds it is checked while the parts are read, which a form with a random
    /// boundary need not do.
    ///
    /// - Parameter boundary: The boundary, without the hyphens before and after it.
    public init(boundary: String) {
        self.boundary = boundary
        isBoundaryChosen = true
    }

    /// Returns a boundary that no part holds, as far as chance can tell.
    ///
    /// - Returns: A boundary with 128 random bits; a token, so that it needs no quotes.
    package static func randomBoundary() -> String { "bluebonnet-\(FileName.token())\(FileName.token())" }

    /// The value of the `Content-Type` field: `multipart/form-data` with the boundary.
    public var contentType: String {
        "multipart/form-data; boundary=\(MultipartBoundary(text: boundary).parameterValue)"
    }

    /// Whether the form can be sent a second time, as after a redirect.
    ///
    /// It cannot when a part is a sequence that was appended itself, instead of by a closure that makes it.
    public var isReplayable: Bool { parts.allSatisfy(\.isReplayable) }

    /// How many bytes the form has, delimiters and fields included.
    ///
    /// Looks up the files' sizes, each time and where it is called. `nil` when a sequence without a stated length is among
    /// the parts, or the form cannot be sent as it is.
    public var contentLength: Int64? {
        guard let length = try? length() else { return nil }
        return length
    }

    /// Returns how many bytes the form has, delimiters and fields included.
    ///
    /// Looks up the files' sizes, each time and where it is called.
    ///
    /// - Returns: The number; `nil` when a sequence without a stated length is among the parts.
    /// - Throws: `.multipartEncoding` for the first part that cannot be sent, or for the boundary.
    package func length() throws(RequestError) -> Int64? {
        length(of: try preparedParts())
    }

    /// Checks all parts and makes the form ready to be read.
    ///
    /// Every file is opened once to see that it can be, and closed again; its size counts from now on. A sequence that can
    /// be read once is used up by the first reader that is asked for a piece. Off the loop.
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
            // The stated lengths add up to more than can be counted.
            guard !isTooLarge else { return nil }
            total = sum
        }
        return total
    }
}

extension MultipartFormData {
    /// Appends a field with a text.
    ///
    /// The text is sent as UTF-8, unchanged and without a `Content-Type`: that means `text/plain` (RFC 7578 §4.4).
    ///
    /// - Parameters:
    ///   - text: The field's value.
    ///   - name: The field's name.
    public mutating func append(_ text: String, withName name: String) {
        append(MultipartPartHead(name: name), .data(Data(text.utf8)))
    }

    /// Appends a field or a file whose bytes are in memory.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - name: The field's name.
    ///   - fileName: The file's name; without it, the part is a field, not a file.
    ///   - mimeType: The media type; none leaves `Content-Type` out, which means `text/plain` (RFC 7578 §4.4).
    ///   - headers: More fields for the part, which servers must ignore (RFC 7578 §4.8); no `Content-Disposition`.
    public mutating func append(
        _ data: Data, withName name: String, fileName: String? = nil, mimeType: String? = nil,
        headers: HTTPHeaders = [:]
    ) {
        append(
            MultipartPartHead(name: name, fileName: fileName, mimeType: mimeType, headers: headers),
            .data(data))
    }

    /// Appends a file under its own name.
    ///
    /// The name is the last component of the URL; the media type goes by what follows the last dot in it, by the system's
    /// table (`/etc/mime.types`, the shared MIME database) or a small built-in one; else it is `application/octet-stream`.
    /// The file is not touched before the form is opened.
    ///
    /// - Parameters:
    ///   - fileURL: The file.
    ///   - name: The field's name.
    public mutating func append(_ fileURL: URL, withName name: String) {
        append(MultipartPartHead(name: name), .file(fileURL, namesItself: true))
    }

    /// Appends a file.
    ///
    /// The file is not touched before the form is opened.
    ///
    /// - Parameters:
    ///   - fileURL: The file.
    ///   - name: The field's name.
    ///   - fileName: The name to send for the file.
    ///   - mimeType: The media type to send for the file.
    ///   - headers: More fields for the part, which servers must ignore (RFC 7578 §4.8); no `Content-Disposition`.
    public mutating func append(
        _ fileURL: URL, withName name: String, fileName: String, mimeType: String, headers: HTTPHeaders = [:]
    ) {
        append(
            MultipartPartHead(name: name, fileName: fileName, mimeType: mimeType, headers: headers),
            .file(fileURL, namesItself: false))
    }

    /// Appends a field or a file whose bytes come from a sequence that can be read once.
    ///
    /// The form can then be opened once, whichever copy of it: it cannot be sent again after a redirect or for a retry.
    /// A sequence that ends early because its task was cancelled ends the form with `.cancelled`.
    ///
    /// - Parameters:
    ///   - sequence: The chunks; it is begun when the part is due.
    ///   - length: How many bytes it gives; with none, the length of the whole form is not known. Another number of bytes
    ///     is an error.
    ///   - name: The field's name.
    ///   - fileName: The file's name; without it, the part is a field, not a file.
    ///   - mimeType: The media type; none leaves `Content-Type` out, which means `text/plain` (RFC 7578 §4.4).
    ///   - headers: More fields for the part, which servers must ignore (RFC 7578 §4.8); no `Content-Disposition`.
    public mutating func append<S: AsyncSequence & Sendable>(
        _ sequence: S, length: Int64? = nil, withName name: String, fileName: String? = nil, mimeType: String? = nil,
        headers: HTTPHeaders = [:]
    ) where S.Element: DataProtocol & Sendable {
        append(
            MultipartPartHead(name: name, fileName: fileName, mimeType: mimeType, headers: headers),
            .sequence(SequenceSource(once: sequence, length: length)))
    }

    /// Appends a field or a file whose bytes come from a sequence that can be made any number of times.
    ///
    /// - Parameters:
    ///   - length: How many bytes each sequence gives; with none, the length of the whole form is not known. Another
    ///     number of bytes is an error.
    ///   - name: The field's name.
    ///   - fileName: The file's name; without it, the part is a field, not a file.
    ///   - mimeType: The media type; none leaves `Content-Type` out, which means `text/plain` (RFC 7578 §4.4).
    ///   - headers: More fields for the part, which servers must ignore (RFC 7578 §4.8); no `Content-Disposition`.
    ///   - make: Returns the chunks from the first on; called when the part is due, off the caller's actor.
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
    /// Runs on the global pool. Meant for small forms; a form is sent without it.
    ///
    /// - Returns: The bytes.
    /// - Throws: `.multipartEncoding` for the first part that cannot be sent, or `.cancelled`.
    @concurrent
    public func encode() async throws(RequestError) -> Data {
        let body = try open()
        var reader = body.makeReader()
        var bytes = Data()
        // The stated length of a sequence may be any number: memory is not reserved for all of it in advance.
        bytes.reserveCapacity(Int(min(body.length ?? 0, Self.reservationLimit)))
        while let piece = try await reader.nextPiece() { bytes.append(piece) }
        return bytes
    }

    /// Writes the form to a new file, piece by piece.
    ///
    /// Runs on the global pool. A file that is there already stays as it is; when writing fails, nothing is left behind.
    ///
    /// - Parameter fileURL: The file to make.
    /// - Throws: `.multipartEncoding` with `.outputFileAlreadyExists`, `.outputFileURLInvalid`, `.outputFileWriteFailed`, or
    ///   for the first part that cannot be sent; `.cancelled`.
    @concurrent
    public func write(to fileURL: URL) async throws(RequestError) {
        guard fileURL.isFileURL else {
            throw RequestError(.multipartEncoding(.outputFileURLInvalid(fileURL.redactedDescription)))
        }
        let path = fileURL.path(percentEncoded: false)
        // Before the form is opened: a sequence that can be read once is kept for when there is a file to write to.
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

    /// How many bytes are reserved at most before any have been read.
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
    /// Returns the next piece of a form, unless the task has been cancelled.
    fileprivate mutating func nextPiece() async throws(RequestError) -> Data? {
        guard !Task.isCancelled else { throw RequestError(.cancelled) }
        do {
            return try await next()
        } catch {
            throw error as? RequestError ?? RequestError(.internal, detail: "\(error)")
        }
    }
}
