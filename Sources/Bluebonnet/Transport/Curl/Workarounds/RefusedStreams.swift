import CCurl

/// Recognizes the requests that a server has not processed, which libcurl does not report.
///
/// Libcurl sends a request again if its stream was refused, and also if an old connection has ended. It does not report
/// which of the two has happened. No tested version does, 7.88 to 8.23:
///
/// - Since 8.3.0, the trace of the HTTP/2 and HTTP/3 code has a line for a stream that was reset. This includes the
///   streams above the last stream of a GOAWAY frame, which nghttp2 closes as refused (RFC 9113 §6.8). The trace also has
///   a line for each stream that was opened: without it, the request was not sent. The trace is only enabled for requests
///   that may be sent again for no other reason.
/// - In earlier versions, libcurl sends a request on a new connection again only after a refusal, provided that no
///   other request uses the connection. On other connections, a refusal cannot be recognized.
///
/// Libcurl never clears its own mark for a refused stream if it sends the request again because the connection is old.
/// Such a handle is therefore not used again.
// Safety: libcurl's text is used within the callback that provides it.
enum RefusedStreams {
    /// Whether libcurl traces the streams that were reset.
    static let areTraced =
        unsafe Libcurl.isReady && Libcurl.version >= 0x08_03_00 && bb_curl_global_trace("http/2,http/3") == CURLE_OK

    /// The meaning of a line of the trace.
    enum Event: Equatable {
        case opened
        /// The peer has ended the stream without an error.
        case closed
        case reset(ResendPolicy.Knowledge)
    }

    /// Returns the meaning of a line of the trace; `nil` for most lines.
    static func event(in line: UnsafeRawBufferPointer) -> Event? {
        // For example: [HTTP/2] [3] RESET: REFUSED_STREAM (err 7)
        guard unsafe line.starts(with: prefix.utf8) else { return nil }
        let text = unsafe String(decoding: line.prefix(80), as: UTF8.self)
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count > 2, words[1].hasPrefix("["), words[1].hasSuffix("]") else { return nil }
        if words[2].hasPrefix("CLOSED") { return .closed }
        guard words.count > 3 else { return nil }
        switch (words[0], words[2], words[3]) {
        case ("[HTTP/2]", "OPENED", "stream"), ("[HTTP/3]", "OPENED", "stream"): return .opened
        case ("[HTTP/2]", "RESET:", "REFUSED_STREAM"): return .reset(.refused)
        case ("[HTTP/2]", "RESET:", "HTTP_1_1_REQUIRED"): return .reset(.requiresHTTP1)
        case ("[HTTP/3]", "RESET:", "error"):
            guard words.count > 4, let code = Int(words[4].prefix { $0.isNumber }) else { return nil }
            // H3_REQUEST_REJECTED and H3_VERSION_FALLBACK (RFC 9114 §8.1).
            return code == 0x10b ? .reset(.refused) : code == 0x110 ? .reset(.requiresHTTP1) : nil
        default: return nil
        }
    }

    private static let prefix = "[HTTP/"
}

extension Transfer {
    /// Makes libcurl trace the request if a refusal may be the only reason for which it is sent again, or the reason
    /// for which it fails.
    ///
    /// This is the case if its method is not idempotent, if its body cannot be read again, and after a vain attempt.
    func traceSending() {
        guard RefusedStreams.areTraced, isSecure || httpVersion == .http2PriorKnowledge,
            !request.method.isIdempotent || !upload.isReplayable || resends.wasResent
        else { return }
        isTraced = true
        easy?.set(CURLOPT_VERBOSE, 1)
        // The next request on the handle must not have this option.
        easy?.profile = nil
    }

    /// Called with each line of libcurl's trace.
    func traced(_ line: UnsafeRawBufferPointer) {
        switch unsafe RefusedStreams.event(in: line) {
        case nil: break
        case .opened:
            turn.reportsOpening = true
            resends.opened()
        case .closed: isStreamClosed = true
        case .reset(let knowledge): resends.learned(knowledge)
        }
    }

    /// Whether libcurl reports when it opens a stream for the request.
    ///
    /// This is only assumed if libcurl has already done it.
    var reportsOpening: Bool { turn.reportsOpening && isTraced && connection?.version == .multiplexed }

    /// Called when libcurl sends the request again; versions without a trace thereby reveal a refusal.
    func inferRefusal() {
        guard !RefusedStreams.areTraced, resends.isUnanswered else { return }
        if resends.isOnNewConnection, connection?.requestCount == 1, !mayHaveStaleMark {
            resends.learned(.refused)
        } else {
            mayHaveStaleMark = true
        }
    }
}
