public import FoundationEssentials

extension MultipartFormData {
    /// Appends a field with a text.
    ///
    /// The text is sent as UTF-8, unchanged and without a `Content-Type`: that means `text/plain` (RFC 7578 §4.4).
    ///
    /// - Parameters:
    ///   - text: The field's value.
    ///   - name: The field's name.
    public mutating func append(_ text: String, withName name: String) {
        append(MultipartPart(name: name, source: .data(Data(text.utf8))))
    }

    /// Appends a field or a file whose bytes are in memory.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - name: The field's name.
    ///   - fileName: The file's name; none makes it a field that is no file.
    ///   - mimeType: The media type; none leaves `Content-Type` out, which means `text/plain` (RFC 7578 §4.4).
    ///   - headers: More fields for the part, which servers are told to ignore (RFC 7578 §4.8); no `Content-Disposition`.
    public mutating func append(
        _ data: Data, withName name: String, fileName: String? = nil, mimeType: String? = nil,
        headers: HTTPHeaders = [:]
    ) {
        append(
            MultipartPart(
                name: name, fileName: fileName, mimeType: mimeType, headers: headers, source: .data(data)))
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
        append(MultipartPart(name: name, source: .file(fileURL, namesItself: true)))
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
    ///   - headers: More fields for the part, which servers are told to ignore (RFC 7578 §4.8); no `Content-Disposition`.
    public mutating func append(
        _ fileURL: URL, withName name: String, fileName: String, mimeType: String, headers: HTTPHeaders = [:]
    ) {
        append(
            MultipartPart(
                name: name, fileName: fileName, mimeType: mimeType, headers: headers,
                source: .file(fileURL, namesItself: false)))
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
    ///   - fileName: The file's name; none makes it a field that is no file.
    ///   - mimeType: The media type; none leaves `Content-Type` out, which means `text/plain` (RFC 7578 §4.4).
    ///   - headers: More fields for the part, which servers are told to ignore (RFC 7578 §4.8); no `Content-Disposition`.
    public mutating func append<S: AsyncSequence & Sendable>(
        _ sequence: S, length: Int64? = nil, withName name: String, fileName: String? = nil, mimeType: String? = nil,
        headers: HTTPHeaders = [:]
    ) where S.Element: DataProtocol & Sendable {
        append(
            MultipartPart(
                name: name, fileName: fileName, mimeType: mimeType, headers: headers,
                source: .sequence(MultipartSequence(once: sequence, length: length))))
    }

    /// Appends a field or a file whose bytes come from a sequence that can be made any number of times.
    ///
    /// - Parameters:
    ///   - length: How many bytes each sequence gives; with none, the length of the whole form is not known. Another
    ///     number of bytes is an error.
    ///   - name: The field's name.
    ///   - fileName: The file's name; none makes it a field that is no file.
    ///   - mimeType: The media type; none leaves `Content-Type` out, which means `text/plain` (RFC 7578 §4.4).
    ///   - headers: More fields for the part, which servers are told to ignore (RFC 7578 §4.8); no `Content-Disposition`.
    ///   - make: Returns the chunks from the first on; called when the part is due, off the caller's actor.
    public mutating func append<S: AsyncSequence & SendableMetatype>(
        length: Int64? = nil, withName name: String, fileName: String? = nil, mimeType: String? = nil,
        headers: HTTPHeaders = [:], _ make: @escaping @Sendable () -> S
    ) where S.Element: DataProtocol & Sendable {
        append(
            MultipartPart(
                name: name, fileName: fileName, mimeType: mimeType, headers: headers,
                source: .sequence(MultipartSequence(length: length, make: make))))
    }
}
