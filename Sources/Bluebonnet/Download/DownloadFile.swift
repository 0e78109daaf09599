import FoundationEssentials

/// Writes the body of a download to its file, and continues where an earlier exchange ended.
///
/// It belongs to the task that runs the request. Its calls block, so they never run on the event loop. All
/// attempts of a request use the same file. This is the order of calls:
///
///     prepare                           once, before the first exchange: checks the destination
///     ├─ fields(for:)                   before each exchange: the fields to add to the request
///     │   └─ headReceived               the head, before the validators; does not change the file yet
///     │       ├─ .write                 validators; then write(_:) for each piece; then complete() at the end
///     │       │     ├─ .file(URL)       done
///     │       │     └─ .sendAgain       the server sent less than requested: the next exchange requests the rest
///     │       ├─ .complete              no bytes are missing: no validators, no body; complete()
///     │       ├─ .sendAgain             no validators, no body; the next exchange requests the whole body immediately
///     │       └─ .refuse(error)         validators, whose error takes precedence; the attempt fails
///     │   an exchange may fail at any time: canResume and fetched show whether another can continue
///     └─ interrupted()                  once, if no exchange follows: returns the data for resuming later
///
/// If an attempt is not resumed, the file keeps its bytes until the next attempt has a body.
final class DownloadFile {
    /// The next step after the head of an exchange.
    enum HeadAction: Sendable {
        case write
        case complete
        case sendAgain
        case refuse(RequestError)
    }

    /// The result of a complete body.
    enum Completion: Hashable, Sendable {
        case file(URL)
        case sendAgain
    }

    /// The URL of the partial file.
    var partialFileURL: URL { URL(filePath: partial.path, directoryHint: .notDirectory) }

    /// Whether the partial file still exists at its path.
    ///
    /// Otherwise, the written bytes are lost.
    var isInPlace: Bool { partial.isInPlace }

    /// The number of bytes in the file before the body of the current exchange.
    var positionOfBody: Int64 { if case .append(let position) = pendingStart { position } else { 0 } }

    /// The size of the file in bytes, including the bytes of earlier exchanges.
    var completed: Int64 { partial.size }

    /// The final size of the file in bytes, or `nil` if it is unknown.
    ///
    /// The property is set when the head arrives.
    private(set) var total: Int64?

    /// The number of bytes that the current or the last exchange has received.
    private(set) var fetched: Int64 = 0

    /// The expected checksum of the file, which is set before the first exchange.
    var checksum: DownloadChecksum?

    private let target: DownloadTarget
    private let partial: PartialFile
    /// Whether the next exchange may request only the bytes after those in the file.
    private let isResuming: Bool
    /// Whether the whole body must be requested, regardless of the file.
    private var startsOver = false
    /// Whether the bytes in the file belong to another download and cannot be used.
    private var isForeign: Bool
    private var request: HTTPRequest?
    private var response: HTTPResponse?
    /// The range that the current exchange requests, or `nil` if it requests the whole body.
    private var decision: ResumeDecision?
    /// The largest size that the file has had with its representation; a server may send the same bytes again.
    private var furthest: Int64
    /// The number of times that the representation changed.
    private var changes = 0
    /// The change to make to the file before the first byte of the body.
    private var pendingStart: FileStart?
    /// The position in the file at which the body of the exchange ends, if the body is partial.
    private var end: Int64?
    /// The digest of the beginning of the file.
    private var digest: RunningDigest?
    private var hasFailed = false
    private var isSettled = false

    private enum FileStart {
        case restart(ResumeData?)
        case append(at: Int64)
    }

    private init(_ target: DownloadTarget, _ partial: PartialFile, isResuming: Bool, isForeign: Bool) {
        self.target = target
        self.partial = partial
        self.isResuming = isResuming
        self.isForeign = isForeign
        furthest = isForeign ? 0 : partial.size
    }

    deinit {
        _ = interrupted()
    }

    /// Checks the destination and opens the partial file.
    ///
    /// - Parameters:
    ///   - destination: The destination of the file.
    ///   - request: The request after adaptation.
    ///   - resumeData: The data that ``interrupted(discarding:)`` returned. If its file does not exist or contains
    ///     another body, the whole body is requested.
    /// - Returns: The file of the download.
    /// - Throws: `.download` with the problem of the destination or the data.
    static func prepare(
        _ destination: DownloadDestination, for request: HTTPRequest, resumeData: Data? = nil
    ) throws(RequestError) -> DownloadFile {
        let data: ResumeData? = if let resumeData { try ResumeData(decoding: resumeData) } else { nil }
        let target = try DownloadTarget(destination)
        let isAutomatic = target.options.contains(.automaticallyResume)
        if let partial = data.flatMap({ PartialFile.left(by: $0) }) {
            return DownloadFile(target, partial, isResuming: true, isForeign: false)
        }
        let partial = try target.openPartialFile()
        let isUsable = isAutomatic && partial.resumeData?.isOf(request) == true
        return DownloadFile(target, partial, isResuming: isAutomatic || data != nil, isForeign: !isUsable)
    }

    // MARK: An exchange

    /// Begins an exchange.
    ///
    /// - Parameter request: The request to send.
    /// - Returns: The fields that replace the request's fields with the same names. If the download can be resumed,
    ///   they request the rest of the body. They also refuse content codings, so that lengths and ranges refer to the
    ///   bytes of the file. If the whole body is requested and the request has its own `Accept-Encoding` field, this
    ///   field is sent unchanged.
    func fields(for request: HTTPRequest) -> HTTPHeaders {
        self.request = request
        (response, decision, pendingStart, end, total) = (nil, nil, nil, nil, nil)
        fetched = 0
        if canResume, ResumeData.isResumable(request) {
            decision = partial.resumeData?.decision(size: partial.size)
        }
        if let decision { return decision.fields }
        return request.headers.contains("Accept-Encoding") ? [:] : ["Accept-Encoding": "identity"]
    }

    /// Returns how to handle the body of a response.
    ///
    /// The order of calls is described above. The method does not block.
    func headReceived(_ response: HTTPResponse) -> HeadAction {
        self.response = response
        guard let decision else { return startWhole(response) }
        switch decision.answer(response) {
        case .append(let position, let end, let total):
            pendingStart = .append(at: position)
            self.end = end
            self.total = total
            return .write
        case .whole: return startWhole(response)
        case .complete:
            total = partial.size
            return .complete
        case .startOver:
            startsOver = true
            return .sendAgain
        case .refused(let code): return .refuse(RequestError(.download(.cannotResume(statusCode: code))))
        }
    }

    private func startWhole(_ response: HTTPResponse) -> HeadAction {
        // If no range was requested, a partial response must not be treated as the whole representation.
        if response.statusCode == 206, request?.headers.contains("Range") == false {
            return .refuse(RequestError(.invalidResponse(.malformed), detail: "a part came that was not asked for"))
        }
        pendingStart = .restart(request.flatMap { ResumeData(request: $0, response: response, path: partial.path) })
        total = response.expectedContentLength
        return .write
    }

    /// Writes a piece of the body to the file.
    ///
    /// - Throws: `.download(.cannotWriteFile)`, for example if the disk is full, or `.invalidResponse` if there are
    ///   more bytes than announced.
    func write(_ data: Data) throws(RequestError) {
        do throws(RequestError) {
            try begin()
            if let end, Int64(data.count) > end - partial.size {
                throw RequestError(.invalidResponse(.malformed), detail: "more came than Content-Range says")
            }
            let size = partial.size
            defer { fetched += partial.size - size }
            try partial.write(data)
            // If bytes before these are missing in the digest, all are read at the end.
            if let digest, digest.count == size { digest.update(data) }
        } catch {
            throw noted(error)
        }
    }

    /// Moves the file to the destination if no bytes are missing, or returns `.sendAgain` otherwise.
    ///
    /// - Throws: `.invalidResponse(.truncated)`, or `.download` if the file could not be moved. The file is kept in
    ///   both cases. If the file has another checksum, `.download(.checksumMismatch)`, and the file is removed.
    func complete() throws(RequestError) -> Completion {
        do throws(RequestError) {
            try begin()
            if let end {
                guard partial.size == end else { throw RequestError(.invalidResponse(.truncated)) }
                // A server may send less than the requested range (RFC 9110 §15.3.7).
                if let total, end < total { return .sendAgain }
            }
            guard let response else { preconditionFailure("a download is complete that has no response") }
            if let expected = try checksum?.expected(for: response) {
                let digest = digest.take() ?? RunningDigest(expected.algorithm)
                try digest.read(partial.file, upTo: partial.size, path: partial.path)
                try expected.check(digest)
            }
            let path = try target.place(partial, response)
            isSettled = true
            return .file(URL(filePath: path, directoryHint: .notDirectory))
        } catch {
            throw noted(error)
        }
    }

    private func begin() throws(RequestError) {
        guard let start = pendingStart.take() else { return }
        let algorithm = try checksum?.expected(for: response).algorithm
        switch start {
        case .restart(let data):
            if changes < Self.changeLimit, let old = partial.resumeData?.validator, data?.validator != old {
                (changes, furthest) = (changes + 1, 0)
            }
            try partial.restart(data)
            (startsOver, isForeign) = (false, false)
        case .append(let position): try partial.truncate(to: position)
        }
        // A digest that includes removed bytes is useless.
        if let algorithm, digest?.algorithm != algorithm || digest?.count ?? 0 > partial.size {
            digest = RunningDigest(algorithm)
        }
    }

    private func noted(_ error: RequestError) -> RequestError {
        switch error.kind {
        case .download(.checksumMissing): break
        case .download(.checksumMismatch):
            // Resuming would result in the same file again.
            isSettled = true
            partial.discard()
        case .download: hasFailed = true
        default: break
        }
        return error
    }

    // MARK: Between exchanges and after the last

    /// The number of changed representations whose first bytes count as progress.
    private static let changeLimit = 3

    /// Returns the number of bytes that the file has gained since the last call.
    func takeGain() -> Int64 {
        guard !isForeign else { return 0 }
        defer { furthest = max(furthest, partial.size) }
        return partial.size - furthest
    }

    /// Whether the next exchange can continue after the bytes in the file.
    ///
    /// It is always `false` if resuming was not requested.
    var canResume: Bool {
        isResuming && !startsOver && !isForeign && partial.resumeData?.decision(size: partial.size) != nil
    }

    /// The data for resuming in the current state, or `nil` if the download cannot be resumed.
    var resumeData: Data? { isSettled || isForeign ? nil : partial.keep() }

    /// Ends the download without moving the file to its destination.
    ///
    /// The partial file is kept if the download can be resumed, or if the file system failed. Otherwise, it is removed.
    /// Later calls do nothing.
    ///
    /// - Parameter isDiscarded: Whether to remove the file even if the download can be resumed.
    /// - Returns: The data for resuming.
    func interrupted(discarding isDiscarded: Bool = false) -> Data? {
        guard !isSettled else { return nil }
        // The caller may use the data to resume before this object is released.
        defer { partial.release() }
        if !isForeign, isDiscarded || !isInPlace {
            isSettled = true
            partial.discard()
            return nil
        }
        let data = resumeData
        isSettled = true
        // If this process has not changed the file of an earlier process, it must not remove the file.
        if data == nil, !hasFailed, partial.keep() == nil { partial.discard() }
        return data
    }
}
