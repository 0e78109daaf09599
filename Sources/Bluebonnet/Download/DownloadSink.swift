import FoundationEssentials

/// Receives a downloaded body into its file, and continues it where an earlier exchange ended.
///
/// Belongs to the task that drives the request; its calls block, so that is never the loop. One sink serves all attempts
/// of a request. The order of calls:
///
///     prepare                           once; what is wrong with the destination is known before anything is fetched
///     ├─ fields(for:)                   before every exchange: what to add to the request
///     │   └─ headReceived               the head, before the validators see it; nothing is done to the file yet
///     │       ├─ .write                 validators; then write(_:) for each piece; then complete(), the end of the body
///     │       │     ├─ .file(URL)       done
///     │       │     └─ .sendAgain       the server gave less than was asked for: the next exchange asks for the rest
///     │       ├─ .complete              nothing is missing: no validators, no body; complete()
///     │       ├─ .sendAgain             no validators, no body; the next exchange, at once, asks for all of it
///     │       └─ .refuse(error)         validators, whose error goes before this one; the attempt fails
///     │   an exchange may fail anywhere: canResume and fetched are for who decides about another one
///     └─ interrupted()                  once, when there is no other: the data to resume with later
///
/// A file that was written to by an attempt that is not gone on from is emptied when the next one has a body.
final class DownloadSink {
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

    /// Where the partial file is.
    var partialFileURL: URL { URL(filePath: partial.path, directoryHint: .notDirectory) }

    /// Whether the partial file is still where it was made; what is written to one that is not is lost.
    var isInPlace: Bool { partial.isInPlace }

    /// How many bytes of the file are before the body of the exchange under way.
    var positionOfBody: Int64 { if case .append(let position) = pendingStart { position } else { 0 } }

    /// How many bytes the file has; where a download was resumed, those of before included.
    var completed: Int64 { partial.size }

    /// How many bytes the file will have, if that is known; from the head on.
    private(set) var total: Int64?

    /// How many bytes the exchange under way, or the last one, has brought.
    private(set) var fetched: Int64 = 0

    private let target: DownloadTarget
    private let partial: PartialFile
    /// Whether the next exchange asks for the bytes behind those in the file.
    private let isResuming: Bool
    /// Whether all of the body must be asked for, whatever is in the file.
    private var startsOver = false
    /// Whether the file holds bytes of another download, which are of no use to this one.
    private var isForeign: Bool
    private var request: HTTPRequest?
    private var response: HTTPResponse?
    /// The rest that the exchange under way asked for, if it did not ask for the whole.
    private var decision: ResumeDecision?
    /// The change of the file that comes before the first byte of the body.
    private var pendingStart: FileStart?
    /// Where the body of the exchange ends, if it is a part.
    private var end: Int64?
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
    }

    deinit {
        _ = interrupted()
    }

    /// Checks the destination and opens the partial file.
    ///
    /// - Parameters:
    ///   - destination: Where the file goes.
    ///   - request: The request before adaptation, so that it is the same as in an earlier process.
    ///   - resumeData: What ``interrupted()`` returned; where the file it speaks of is gone or of something else, all of
    ///     the body is asked for.
    /// - Returns: The sink.
    /// - Throws: `.download`: what is wrong with the destination or the data.
    static func prepare(
        _ destination: DownloadDestination, for request: HTTPRequest, resumeData: Data? = nil
    ) throws(RequestError) -> DownloadSink {
        let data: ResumeData? = if let resumeData { try ResumeData(decoding: resumeData) } else { nil }
        let target = try DownloadTarget(destination)
        let isAutomatic = target.options.contains(.automaticallyResume)
        if let partial = data.flatMap({ PartialFile.left(by: $0) }) {
            return DownloadSink(target, partial, isResuming: true, isForeign: false)
        }
        let partial = try target.openPartialFile()
        let isUsable = isAutomatic && partial.resumeData?.isOf(request) == true
        return DownloadSink(target, partial, isResuming: isAutomatic || data != nil, isForeign: !isUsable)
    }

    // MARK: An exchange

    /// Begins an exchange.
    ///
    /// - Parameter request: The request as it would be sent.
    /// - Returns: Fields to put in the place of those of the same names: what asks for the rest, and that no content coding
    ///   be applied, so that lengths and ranges are those of the file; unless the request asks for a coding itself.
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

    /// Decides what to do with the body of a head; see the order of calls above.
    ///
    /// Does not block.
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
        // A partial response that was not requested would be mistaken for the whole.
        if response.statusCode == 206, request?.headers.contains("Range") == false {
            return .refuse(RequestError(.invalidResponse(.malformed), detail: "a part came that was not asked for"))
        }
        pendingStart = .restart(request.flatMap { ResumeData(request: $0, response: response, path: partial.path) })
        total = response.expectedContentLength
        return .write
    }

    /// Writes a piece of the body to the file.
    ///
    /// - Throws: `.download(.cannotWriteFile)`, as on a full disk; `.invalidResponse` when there is more than was announced.
    func write(_ data: Data) throws(RequestError) {
        do throws(RequestError) {
            try begin()
            if let end, Int64(data.count) > end - partial.size {
                throw RequestError(.invalidResponse(.malformed), detail: "more came than Content-Range says")
            }
            let size = partial.size
            defer { fetched += partial.size - size }
            try partial.write(data)
        } catch {
            throw noted(error)
        }
    }

    /// Moves the file into its place, if nothing is missing.
    ///
    /// - Throws: `.invalidResponse(.truncated)`, or `.download`: why the file could not be moved. It is kept then.
    func complete() throws(RequestError) -> Completion {
        do throws(RequestError) {
            try begin()
            if let end {
                guard partial.size == end else { throw RequestError(.invalidResponse(.truncated)) }
                // A server may send less than the requested range (RFC 9110 §15.3.7).
                if let total, end < total { return .sendAgain }
            }
            guard let response else { preconditionFailure("a download is complete that has no response") }
            let path = try target.place(partial, response)
            isSettled = true
            return .file(URL(filePath: path, directoryHint: .notDirectory))
        } catch {
            throw noted(error)
        }
    }

    private func begin() throws(RequestError) {
        switch pendingStart.take() {
        case .restart(let data):
            try partial.restart(data)
            (startsOver, isForeign) = (false, false)
        case .append(let position): try partial.truncate(to: position)
        case nil: break
        }
    }

    private func noted(_ error: RequestError) -> RequestError {
        if case .download = error.kind { hasFailed = true }
        return error
    }

    // MARK: Between exchanges and after the last

    /// Whether the next exchange can continue after the bytes in the file; false unless resuming was requested.
    var canResume: Bool {
        isResuming && !startsOver && !isForeign && partial.resumeData?.decision(size: partial.size) != nil
    }

    /// The data to resume with later, as it is now; nil if there is nothing to resume.
    var resumeData: Data? { isSettled || isForeign ? nil : partial.keep() }

    /// Ends the download without a file at its destination; later calls do nothing.
    ///
    /// The partial file is kept if it can be resumed, and if the file system failed; otherwise it is removed. A file
    /// that is no longer in its place leaves nothing.
    ///
    /// - Parameter isDiscarded: Whether it is removed in any case.
    /// - Returns: The data to resume with.
    func interrupted(discarding isDiscarded: Bool = false) -> Data? {
        guard !isSettled else { return nil }
        // The data may be used to go on before this object is gone.
        defer { partial.release() }
        if !isForeign, isDiscarded || !isInPlace {
            isSettled = true
            partial.discard()
            return nil
        }
        let data = resumeData
        isSettled = true
        // A file of an earlier process that this one has not touched is not this one's to remove.
        if data == nil, !hasFailed, partial.keep() == nil { partial.discard() }
        return data
    }
}
