import CCurl

/// Recognizes the requests that a server has not processed, which libcurl does not report.
///
/// Libcurl sends a request again if its stream was refused, and also if an old connection has ended. It does not report
/// which of the two has happened. No tested version does, 7.88 to 8.23:
///
/// - Since 8.3.0, the trace of the HTTP/2 and HTTP/3 code has a line for each stream that was opened, and for each
///   stream that was reset. The streams above the last stream of a GOAWAY frame are among them, because nghttp2 closes
///   them as refused (RFC 9113 §6.8). The trace is selected for the whole process, but libcurl only writes it for
///   handles that are verbose: here, those of requests for which a refusal decides whether they are sent again.
/// - Earlier versions report the stream of a request, and GOAWAY frames to the one handle that happens to read them.
///   After such a request, all requests on its connection and on new connections are therefore traced. For the rest,
///   libcurl's own mark is read; see ``RefusalMark``.
///
/// Libcurl never clears its own mark for a refused stream if it sends the request again because the connection is old.
/// Such a handle is therefore not used again.
// Safety: libcurl's text is used within the callback that provides it.
enum RefusedStreams {
    /// Whether libcurl traces the streams that were reset.
    static var areTraced: Bool { Libcurl.tracesStreams }

    /// The meaning of a line of the trace.
    enum Event: Equatable {
        case opened
        /// Libcurl could not open a stream, because the server has announced the end of the connection.
        case unopened
        /// The peer has ended the stream without an error.
        case closed
        case reset(ResendPolicy.Knowledge)
    }

    /// Returns the meaning of a line of the trace; `nil` for most lines.
    ///
    /// For example: `[HTTP/2] [3] RESET: REFUSED_STREAM (err 7)`, and, after a GOAWAY of HTTP/3, which libcurl does not
    /// report: `[HTTP/3] h3sid[8] failed to send, connection is closing`. If the program has selected the numbers of
    /// transfers, they precede each line, as in `[0-0] [HTTP/2] [3] CLOSED`.
    static func event(in line: UnsafeRawBufferPointer) -> Event? {
        guard let start = unsafe lineStart(line), line.count > start + 9 else { return nil }
        let name = unsafe line[start + 6]
        if name == UInt8(ascii: "3"), unsafe line[(start + 9)...].starts(with: "h3sid[".utf8),
            unsafe String(decoding: line[(start + 9)...], as: UTF8.self).contains(Self.closing)
        {
            return .unopened
        }
        // After the number of the stream; most lines end here.
        guard name == UInt8(ascii: "2") || name == UInt8(ascii: "3"), line.count > start + 10,
            unsafe line[start + 9] == UInt8(ascii: "["),
            let end = unsafe line[(start + 10)...].prefix(24).firstIndex(of: UInt8(ascii: "]")),
            line.count > end + 2, unsafe "OCR".utf8.contains(line[end + 2])
        else { return nil }
        let text = unsafe String(decoding: line[(end + 2)...].prefix(60), as: UTF8.self)
        if text.hasPrefix("OPENED stream") { return .opened }
        if text.hasPrefix("CLOSED") { return .closed }
        guard text.hasPrefix("RESET: ") else { return nil }
        let reason = text.dropFirst(7)
        guard name == UInt8(ascii: "3") else {
            return reason.hasPrefix("REFUSED_STREAM")
                ? .reset(.refused) : reason.hasPrefix("HTTP_1_1_REQUIRED") ? .reset(.requiresHTTP1) : nil
        }
        // H3_REQUEST_REJECTED and H3_VERSION_FALLBACK (RFC 9114 §8.1).
        switch Int(reason.dropFirst("error ".count).prefix { $0.isNumber }) {
        case 0x10b: return .reset(.refused)
        case 0x110: return .reset(.requiresHTTP1)
        default: return nil
        }
    }

    /// Returns the index at which the name of the protocol begins; `nil` if the line is not one of HTTP/2 or HTTP/3.
    private static func lineStart(_ line: UnsafeRawBufferPointer) -> Int? {
        if unsafe line.starts(with: prefix.utf8) { return 0 }
        guard let end = unsafe line.prefix(30).firstIndex(of: UInt8(ascii: "]")),
            unsafe line[..<end].dropFirst().allSatisfy({ "0123456789-x".utf8.contains($0) }),
            unsafe line.dropFirst(end + 2).starts(with: prefix.utf8)
        else { return nil }
        return end + 2
    }

    private static let prefix = "[HTTP/"
    private static let closing = "] failed to send, connection is closing"

    // MARK: Before 8.3.0

    /// A frame by which a server ends a connection (RFC 9113 §6.8).
    struct GoAway: Equatable {
        let error: Int
        let lastStream: Int

        /// Whether the server has not processed a request, and the reason; `nil` if it may have processed it.
        func knowledge(of stream: Int) -> ResendPolicy.Knowledge? {
            guard stream > lastStream else { return nil }
            return error == 13 ? .requiresHTTP1 : .refused
        }
    }

    /// The meaning of a line of the trace before 8.3.0.
    enum EarlyEvent: Equatable {
        case opened(stream: Int)
        case goAway(GoAway)
        case requiresHTTP1
        /// The connection has failed.
        case lost
        /// Libcurl will send the request again, perhaps on another connection; it has perhaps removed its mark.
        case sendsAgain(removesMark: Bool)
    }

    /// Returns the meaning of a line of the trace; `nil` for most lines.
    ///
    /// For example: `Using Stream ID: 3 (easy handle 0x…)`, and `recveived GOAWAY, error=0, last_stream=1`.
    static func earlyEvent(in line: UnsafeRawBufferPointer) -> EarlyEvent? {
        guard let first = unsafe line.first, "UrHIRCF".utf8.contains(first) else { return nil }
        let text = unsafe String(decoding: line.prefix(80), as: UTF8.self)
        let numbers = text.split { !$0.isASCII || !$0.isNumber }.compactMap { Int($0) }
        if text.hasPrefix("Using Stream ID: ") { return numbers.first.map { .opened(stream: $0) } }
        if text.hasPrefix("recveived GOAWAY, ") || text.hasPrefix("received GOAWAY, "), numbers.count == 2 {
            return .goAway(GoAway(error: numbers[0], lastStream: numbers[1]))
        }
        if text.hasPrefix("HTTP/2 stream "), text.contains("not closed cleanly: HTTP_1_1_REQUIRED") {
            return .requiresHTTP1
        }
        if text.hasPrefix("Failed receiving HTTP2 data") { return .lost }
        if text.hasPrefix("REFUSED_STREAM, ") { return .sendsAgain(removesMark: true) }
        let isResend = ["Issue another request", "Connection died"].contains(where: text.hasPrefix)
        return isResend ? .sendsAgain(removesMark: false) : nil
    }
}

/// What libcurl's trace has told about the latest sending.
///
/// This is a value type without I/O and without a clock.
// Safety: libcurl's text is used within the callback that provides it.
struct SendingTrace {
    /// What a line of the trace means for the transfer.
    enum Effect {
        case nothing
        case streamOpened
        case learned(ResendPolicy.Knowledge)
        /// The server has announced the end of the connection, and no stream was opened.
        case connectionIsClosing
        case goAway(RefusedStreams.GoAway)
        /// Libcurl sends the request again, and has removed its mark.
        case markIsRemoved
    }

    /// Whether libcurl traces the sending.
    var isOn = false
    /// Whether a line has arrived since the request was sent.
    private(set) var hasLines = false
    /// Whether the server has ended the stream without an error.
    private(set) var isStreamClosed = false
    /// The stream, where libcurl reports it, and whether libcurl still uses it.
    private(set) var stream: (id: Int, isCurrent: Bool)?
    /// Whether the connection has failed; only before 8.3.0.
    private(set) var isLost = false

    /// Called when the request is about to be sent.
    mutating func sendingBegins() { (hasLines, isStreamClosed, stream, isLost) = (false, false, nil, false) }

    /// Called with each line of libcurl's trace.
    mutating func received(_ line: UnsafeRawBufferPointer) -> Effect {
        hasLines = true
        guard RefusedStreams.areTraced else { return received(unsafe RefusedStreams.earlyEvent(in: line)) }
        switch unsafe RefusedStreams.event(in: line) {
        case nil: return .nothing
        case .opened: return .streamOpened
        case .unopened: return .connectionIsClosing
        case .reset(let knowledge): return .learned(knowledge)
        case .closed:
            isStreamClosed = true
            return .nothing
        }
    }

    private mutating func received(_ event: RefusedStreams.EarlyEvent?) -> Effect {
        switch event {
        case nil: return .nothing
        case .opened(let id):
            stream = (id, isCurrent: true)
            return .streamOpened
        // From now on, the frames may be those of a connection that libcurl considers for the request.
        case .sendsAgain(let removesMark):
            stream?.isCurrent = false
            return removesMark ? .markIsRemoved : .nothing
        case .lost:
            isLost = true
            return .nothing
        case .requiresHTTP1: return .learned(.requiresHTTP1)
        case .goAway(let frame): return stream?.isCurrent == true ? .goAway(frame) : .nothing
        }
    }
}

extension Transfer {
    /// Makes libcurl trace the request if a refusal may be the only reason for which it is sent again, or the reason
    /// for which it fails.
    ///
    /// This is the case if its method is not idempotent, if its body cannot be read again, and after a vain attempt.
    ///
    /// Libcurl's own lookups over HTTPS would be traced, too, so the trace begins after them.
    func traceSending() {
        trace.sendingBegins()
        guard isSecure || httpVersion == .http2PriorKnowledge else { return }
        if dependsOnRefusal || resends.wasResent { beginTrace() }
        // Libcurl reports a GOAWAY frame to any request on its connection.
        guard !RefusedStreams.areTraced, let connection, connection.version == .multiplexed else { return }
        if dependsOnRefusal { (connection.isTraced, turn.tracesConnections) = (true, true) }
        if turn.tracesConnections, connection.requestCount == 1 { connection.isTraced = true }
        if connection.isTraced { beginTrace() }
    }

    /// Whether it depends on a refusal whether the request is sent again.
    var dependsOnRefusal: Bool { !request.method.isIdempotent || !upload.isReplayable }

    private func beginTrace() {
        trace.isOn = true
        easy?.set(CURLOPT_VERBOSE, 1)
    }

    /// Ends the trace; the next request on the handle must not be traced.
    func endTrace() {
        trace.isOn = false
        easy?.set(CURLOPT_VERBOSE, 0)
    }

    /// Called when a response has begun to arrive, after which the trace is not needed.
    ///
    /// With HTTP/3, it also tells whether the response is complete; see ``CompleteResponses``.
    func endTraceOfSending() {
        guard RefusedStreams.areTraced,
            !Libcurl.hasHTTP3 || connection.map({ !QUICConnections.isQUIC($0.socket) }) == true
        else { return }
        endTrace()
    }

    /// Called with each line of libcurl's trace.
    func traced(_ line: UnsafeRawBufferPointer) {
        switch unsafe trace.received(line) {
        case .nothing: break
        case .streamOpened:
            turn.reportsOpening = true
            resends.opened()
        case .learned(let knowledge): resends.learned(knowledge)
        case .connectionIsClosing:
            resends.learned(.unconnected)
            if let connection { multi?.idleConnections.connectionIsLost(connection) }
        case .goAway(let frame): connection?.goAway = frame
        case .markIsRemoved: if refusalMark.wasRemoved() { resends.learned(.refused) }
        }
    }

    /// Called before a decision about a second sending, when all that libcurl reveals has been received.
    func judgeKnowledge() {
        if resends.isUnopened, !trace.hasLines { resends.opened() }
        guard !RefusedStreams.areTraced, resends.isUnanswered else { return }
        if let stream = trace.stream, let knowledge = connection?.goAway?.knowledge(of: stream.id) {
            resends.learned(knowledge)
        }
        refusalMark.sendingEnded()
    }

    /// Called when libcurl has failed; its code may be ignored, because the response is complete.
    func noteFailure(_ code: CURLcode) {
        judgeKnowledge()
        guard !RefusedStreams.areTraced else { return }
        refusalMark.sendingEnded()
        // Libcurl does not send a request again after an interim response, and so does not ask.
        if code == CURLE_RECV_ERROR, responseBuffer.isInformational { mayBeRefused() }
    }

    /// Whether libcurl has chosen a connection whose tunnel was not open, and so has sent nothing.
    func isUnconnected(_ code: CURLcode) -> Bool {
        code == CURLE_FAILED_INIT && trace.stream == nil
            && CurlErrorText(of: code, saying: easy?.errorMessage ?? "") == .unconnected
    }

    /// Whether libcurl reports when it opens a stream for the request.
    ///
    /// This is only assumed if libcurl has already done it.
    var reportsOpening: Bool { turn.reportsOpening && trace.isOn && connection?.version == .multiplexed }
}
