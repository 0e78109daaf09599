public import FoundationEssentials

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
        // What was stated for a sequence may be any number: memory is not taken for it in advance.
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
            guard !error.isAlreadyThere else {
                throw RequestError(.multipartEncoding(.outputFileAlreadyExists(path)))
            }
            throw RequestError(.multipartEncoding(.outputFileWriteFailed(path)), detail: error.words)
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
