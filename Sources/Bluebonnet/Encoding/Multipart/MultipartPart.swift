import FoundationEssentials

/// Holds a part of a form as it was appended; nothing of it has been checked.
struct MultipartPart: Sendable {
    /// Says where the bytes of a part are.
    enum Source: Sendable {
        /// In memory.
        case data(Data)
        /// In a file; file name and media type are its own when `namesItself`.
        case file(URL, namesItself: Bool)
        /// In a sequence.
        case sequence(SequenceSource)
    }

    let head: MultipartPartHead
    let source: Source

    /// Whether the bytes can be read a second time.
    var isReplayable: Bool {
        if case .sequence(let sequence) = source { sequence.isReplayable } else { true }
    }

    /// Checks the part and looks up what is not known of it yet.
    ///
    /// A file is opened and closed again: a form may have more files than a process may have descriptors.
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
    /// Returns the error of a form whose part is read from the file.
    func inPart(_ name: String, path: String) -> RequestError {
        switch self {
        case .lengthChanged(let expected, let actual):
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

/// Writes the fields before a part's bytes (RFC 7578 §4.2, §4.4, §4.8).
struct MultipartPartHead {
    let name: String
    var fileName: String?
    var mimeType: String?
    var headers: HTTPHeaders = [:]

    /// Returns the fields with the empty line that ends them.
    func bytes() throws(RequestError) -> Data {
        var text = "Content-Disposition: form-data; name=\"\(Self.escaped(name, isFieldName: true))\""
        if let fileName { text += "; filename=\"\(Self.escaped(fileName, isFieldName: false))\"" }
        try Self.check("Content-Disposition", text)
        if let mimeType {
            try Self.check("Content-Type", mimeType)
            text += "\r\nContent-Type: \(mimeType)"
        }
        for header in headers {
            // A field that is written already, a second time.
            let isTaken =
                header.name.isSameIgnoringCase(as: "Content-Disposition")
                || mimeType != nil && header.name.isSameIgnoringCase(as: "Content-Type")
            guard !isTaken else { throw Self.invalid(header.name) }
            try Self.check(header.name, header.value)
            text += "\r\n\(header.name): \(header.value)"
        }
        return Data((text + "\r\n\r\n").utf8)
    }

    /// Returns a name as it stands between quotes.
    ///
    /// The rule is that of the HTML standard, "multipart/form-data encoding algorithm": a quote becomes `%22`, CR `%0D`
    /// and LF `%0A`, and nothing else changes. In the name of a field, but not of a file, a CR or LF that stands alone is
    /// made CR LF first.
    static func escaped(_ text: String, isFieldName: Bool) -> String {
        guard text.utf8.contains(where: { $0 == 0x22 || $0 == 0x0d || $0 == 0x0a }) else { return text }
        var bytes: [UInt8] = []
        var previous: UInt8 = 0
        for byte in text.utf8 {
            switch byte {
            case 0x22: bytes += "%22".utf8
            case 0x0d: bytes += (isFieldName ? "%0D%0A" : "%0D").utf8
            // The CR before it has brought its LF along.
            case 0x0a where isFieldName && previous == 0x0d: break
            case 0x0a: bytes += (isFieldName ? "%0D%0A" : "%0A").utf8
            default: bytes.append(byte)
            }
            previous = byte
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the fields with a file's own name, and the media type that goes with it.
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

/// Holds a part that has been checked, and can be written.
struct PreparedMultipartPart: Sendable {
    let name: String
    /// The fields with the empty line after them.
    let head: Data
    /// How many bytes the content has, if that is known.
    let length: Int64?
    let source: MultipartPart.Source

    /// Whether the bytes may be long in coming.
    var mayWait: Bool { if case .sequence = source { true } else { false } }

    /// Takes what can be read once only.
    func take() throws(RequestError) {
        guard case .sequence(let sequence) = source, !sequence.take() else { return }
        throw notReplayable
    }

    /// The error that says that the part has been read before.
    private var notReplayable: RequestError {
        RequestError(.multipartEncoding(.bodyPartNotReplayable(name: name)))
    }

    /// Checks that what can be read once only has not been.
    func checkIsLeft() throws(RequestError) {
        guard case .sequence(let sequence) = source, sequence.isUsedUp else { return }
        throw notReplayable
    }

    /// Begins the content.
    func makeReader() throws(RequestError) -> any BodyReader {
        switch source {
        case .data(let data): DataReader(data)
        case .file(let url, _): try Self.reader(of: url, in: name)
        case .sequence(let sequence): sequence.makeReader()
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

    /// Returns the error of the form for what a reader of the content threw.
    func error(for error: any Error) -> RequestError {
        if case .file(let url, _) = source, let error = error as? FileError {
            return error.inPart(name, path: url.path(percentEncoded: false))
        }
        if error is CancellationError { return RequestError(.cancelled) }
        // Not every sequence ends with that error when its task is cancelled.
        let cause = (error as? BodySequenceError)?.error ?? error
        if Task.isCancelled { return RequestError(.cancelled, underlying: cause) }
        return RequestError(.multipartEncoding(.bodyPartSequenceFailed(name: name)), underlying: cause)
    }

    /// Returns the error that says how many bytes there were instead.
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
