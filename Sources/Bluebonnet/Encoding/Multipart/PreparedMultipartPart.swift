import FoundationEssentials

/// Holds a part that has been checked, and can be written.
struct PreparedMultipartPart: Sendable {
    /// Says where the bytes of a part are.
    enum Content: Sendable {
        case data(Data)
        case file(path: String)
        case sequence(MultipartSequence)
    }

    let name: String
    /// The fields with the empty line after them.
    let head: Data
    /// How many bytes the content has, if that is known.
    let length: Int64?
    let content: Content

    /// Whether the bytes may be long in coming.
    var mayWait: Bool { if case .sequence = content { true } else { false } }

    /// Takes what can be read once only.
    func take() throws(RequestError) {
        guard case .sequence(let sequence) = content, !sequence.take() else { return }
        throw notReplayable
    }

    /// The error that says that the part has been read before.
    private var notReplayable: RequestError {
        RequestError(.multipartEncoding(.bodyPartNotReplayable(name: name)))
    }

    /// Checks that what can be read once only has not been.
    func checkIsLeft() throws(RequestError) {
        guard case .sequence(let sequence) = content, sequence.isUsedUp else { return }
        throw notReplayable
    }

    /// Begins the content.
    func makeReader() throws(RequestError) -> any BodyReader {
        switch content {
        case .data(let data): return DataReader(data)
        case .file(let path):
            do {
                return try FileReader(path: path)
            } catch {
                throw error.inPart(name, path: path)
            }
        case .sequence(let sequence): return sequence.makeReader()
        }
    }

    /// Returns the error of the form for what a reader of the content threw.
    func error(for error: any Error) -> RequestError {
        if case .file(let path) = content, let error = error as? FileError { return error.inPart(name, path: path) }
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
private struct DataReader: BodyReader {
    private var data: Data?

    init(_ data: Data) {
        self.data = data.isEmpty ? nil : data
    }

    mutating func next() -> Data? {
        defer { data = nil }
        return data
    }
}
