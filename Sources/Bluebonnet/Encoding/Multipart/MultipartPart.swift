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
        case sequence(MultipartSequence)
    }

    let name: String
    var fileName: String?
    var mimeType: String?
    var headers: HTTPHeaders = [:]
    let source: Source

    /// Whether the bytes can be read a second time.
    var isReplayable: Bool {
        if case .sequence(let sequence) = source { sequence.isReplayable } else { true }
    }

    /// Checks the part and looks up what is not known of it yet.
    ///
    /// A file is opened and closed again: a form may have more files than a process may have descriptors.
    func prepared() throws(RequestError) -> PreparedMultipartPart {
        switch source {
        case .data(let data):
            return PreparedMultipartPart(
                name: name, head: try head.bytes(), length: Int64(data.count), content: .data(data))
        case .file(let url, let namesItself):
            guard url.isFileURL else { throw Self.error(.bodyPartURLInvalid(url.redactedDescription)) }
            let head = try (namesItself ? try self.head(of: url) : head).bytes()
            let path = url.path(percentEncoded: false)
            do {
                let length = try FileReader(path: path).length
                return PreparedMultipartPart(name: name, head: head, length: length, content: .file(path: path))
            } catch {
                throw error.inPart(name, path: path)
            }
        case .sequence(let sequence):
            if let length = sequence.length, length < 0 {
                throw Self.error(.bodyPartLengthMismatch(name: name, expected: length, actual: 0))
            }
            return PreparedMultipartPart(
                name: name, head: try head.bytes(), length: sequence.length, content: .sequence(sequence))
        }
    }

    private var head: MultipartPartHead {
        MultipartPartHead(name: name, fileName: fileName, mimeType: mimeType, headers: headers)
    }

    private func head(of url: URL) throws(RequestError) -> MultipartPartHead {
        var head = head
        let fileName = url.lastPathComponent
        guard !fileName.isEmpty, fileName != "/" else {
            throw Self.error(.bodyPartFilenameInvalid(url.redactedDescription))
        }
        head.fileName = fileName
        head.mimeType = MediaTypeTable.system.mediaType(ofFileNamed: fileName)
        return head
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
                detail: words)
        }
    }
}
