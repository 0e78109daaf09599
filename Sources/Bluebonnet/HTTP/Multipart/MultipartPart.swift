import FoundationEssentials

/// A part of a form as it was appended, without any checks.
struct MultipartPart: Sendable {
    /// The sources of a part's bytes.
    enum Source: Sendable {
        /// Bytes in memory.
        case data(Data)
        /// A file. If `namesItself` is `true`, the file name and media type come from its URL.
        case file(URL, namesItself: Bool)
        /// A sequence of chunks.
        case sequence(SequenceSource)
    }

    let head: MultipartPartHead
    let source: Source

    /// Whether the bytes can be read a second time.
    var isReplayable: Bool {
        if case .sequence(let sequence) = source { sequence.isReplayable } else { true }
    }

    /// Checks the part and completes its properties.
    ///
    /// The method closes a file again, because a form may have more files than a process may have open descriptors.
    func prepared() throws(RequestError) -> PreparedMultipartPart {
        var head = head
        let length: Int64?
        switch source {
        case .data(let data): length = Int64(data.count)
        case .file(let url, let namesItself):
            guard url.isFileURL else { throw Self.error(.bodyPartURLInvalid(url.redactedDescription)) }
            if namesItself { head = try head.named(by: url) }
            length = try PreparedMultipartPart.reader(of: url, in: head.name).length
        case .sequence(let sequence):
            length = sequence.length
            if let length, length < 0 {
                throw Self.error(.bodyPartLengthMismatch(name: head.name, expected: length, actual: 0))
            }
        }
        return PreparedMultipartPart(name: head.name, head: try head.bytes(), length: length, source: source)
    }

    private static func error(_ reason: RequestError.MultipartEncodingReason) -> RequestError {
        RequestError(.multipartEncoding(reason))
    }
}

extension FileError {
    /// Returns the form's error for a part that is read from the file.
    func inPart(_ name: String, path: String) -> RequestError {
        switch self {
        case .lengthChanged(let expected, let actual), .isShorter(let expected, let actual):
            RequestError(
                .multipartEncoding(.bodyPartLengthMismatch(name: name, expected: expected, actual: actual)),
                detail: "the file \(path) has changed")
        case .isDirectory: RequestError(.multipartEncoding(.bodyPartFileIsDirectory(path)))
        case .system, .isNotRegular:
            RequestError(
                .multipartEncoding(isUnreachable ? .bodyPartFileNotReachable(path) : .bodyPartFileUnreadable(path)),
                detail: message)
        }
    }
}

/// The header fields before a part's bytes (RFC 7578 §4.2, §4.4, §4.8).
struct MultipartPartHead {
    let name: String
    var fileName: String?
    var mimeType: String?
    var headers: HTTPHeaders = [:]

    /// Returns the header fields, including the empty line that ends them.
    func bytes() throws(RequestError) -> Data {
        var text = "Content-Disposition: form-data; name=\"\(Self.escaped(name, isFieldName: true))\""
        if let fileName { text += "; filename=\"\(Self.escaped(fileName, isFieldName: false))\"" }
        try Self.check("Content-Disposition", text)
        if let mimeType {
            try Self.check("Content-Type", mimeType)
            text += "\r\nContent-Type: \(mimeType)"
        }
        for header in headers {
            // The field has already been written.
            let isTaken =
                header.name.isSameIgnoringCase(as: "Content-Disposition")
                || mimeType != nil && header.name.isSameIgnoringCase(as: "Content-Type")
            guard !isTaken else { throw Self.invalid(header.name) }
            try Self.check(header.name, header.value)
            text += "\r\n\(header.name): \(header.value)"
        }
        return Data((text + "\r\n\r\n").utf8)
    }

    /// Returns a name as it is written between quotes.
    ///
    /// The encoding is the HTML standard's "multipart/form-data encoding algorithm". A quote becomes `%22`, CR becomes
    /// `%0D`, and LF becomes `%0A`. All other characters are unchanged. In field names, but not in file names, a lone
    /// CR or LF first becomes CR LF.
    static func escaped(_ text: String, isFieldName: Bool) -> String {
        guard text.utf8.contains(where: { $0 == 0x22 || $0 == 0x0d || $0 == 0x0a }) else { return text }
        var bytes: [UInt8] = []
        var previous: UInt8 = 0
        for byte in text.utf8 {
            switch byte {
            case 0x22: bytes += "%22".utf8
            case 0x0d: bytes += (isFieldName ? "%0D%0A" : "%0D").utf8
            // The CR before it has already been written with its LF.
            case 0x0a where isFieldName && previous == 0x0d: break
            case 0x0a: bytes += (isFieldName ? "%0D%0A" : "%0A").utf8
            default: bytes.append(byte)
            }
            previous = byte
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the header fields with the file's own name and the media type for its extension.
    func named(by url: URL) throws(RequestError) -> MultipartPartHead {
        var head = self
        let fileName = url.lastPathComponent
        guard !fileName.isEmpty, fileName != "/" else {
            throw RequestError(.multipartEncoding(.bodyPartFilenameInvalid(url.redactedDescription)))
        }
        head.fileName = fileName
        head.mimeType = MediaTypeTable.system.mediaType(ofFileNamed: fileName)
        return head
    }

    private static func check(_ name: String, _ value: String) throws(RequestError) {
        guard name.utf8.isToken, value.utf8.isFieldValue else { throw invalid(name) }
    }

    private static func invalid(_ name: String) -> RequestError {
        RequestError(.multipartEncoding(.bodyPartHeaderInvalid(name)))
    }
}

/// A part that has been checked and can be written.
struct PreparedMultipartPart: Sendable {
    let name: String
    /// The header fields, including the empty line after them.
    let head: Data
    /// The number of bytes of the content, if it is known.
    let length: Int64?
    let source: MultipartPart.Source

    /// Whether the bytes may take a long time to arrive.
    var mayWait: Bool { if case .sequence = source { true } else { false } }

    /// Claims content that can be read only once.
    func take() throws(RequestError) {
        guard case .sequence(let sequence) = source, !sequence.take() else { return }
        throw notReplayable
    }

    /// The error for a part that has been read before.
    private var notReplayable: RequestError {
        RequestError(.multipartEncoding(.bodyPartNotReplayable(name: name)))
    }

    /// Checks that content that can be read only once has not been read yet.
    func checkIsLeft() throws(RequestError) {
        guard case .sequence(let sequence) = source, sequence.isUsedUp else { return }
        throw notReplayable
    }

    /// Starts reading the content.
    func makeReader() throws(RequestError) -> any BodyReader {
        switch source {
        case .data(let data): DataReader(data)
        case .file(let url, _): try Self.reader(of: url, in: name)
        case .sequence(let sequence): try sequence.makeReader()
        }
    }

    /// Opens the file of a part.
    static func reader(of file: URL, in name: String) throws(RequestError) -> FileReader {
        do {
            return try FileReader(path: file.path(percentEncoded: false))
        } catch {
            throw error.inPart(name, path: file.path(percentEncoded: false))
        }
    }

    /// Converts an error of the content's reader to an error of the form.
    func error(for error: any Error) -> RequestError {
        if case .file(let url, _) = source, let error = error as? FileError {
            return error.inPart(name, path: url.path(percentEncoded: false))
        }
        if error is CancellationError { return RequestError(.cancelled) }
        // Not every sequence ends with a `CancellationError` when its task is cancelled.
        let cause = (error as? BodySequenceError)?.error ?? error
        if Task.isCancelled { return RequestError(.cancelled, underlying: cause) }
        return RequestError(.multipartEncoding(.bodyPartSequenceFailed(name: name)), underlying: cause)
    }

    /// Returns the error for a wrong number of bytes.
    func lengthMismatch(expected: Int64, actual: Int64) -> RequestError {
        RequestError(.multipartEncoding(.bodyPartLengthMismatch(name: name, expected: expected, actual: actual)))
    }
}

/// Reads bytes in memory as one piece, without copying them.
struct DataReader: BodyReader {
    private var data: Data?

    init(_ data: Data) { self.data = data.isEmpty ? nil : data }

    mutating func next() -> Data? { data.take() }
}
