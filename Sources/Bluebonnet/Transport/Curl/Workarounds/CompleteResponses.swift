import CCurl

/// Accepts a complete response although libcurl reports that its connection or its stream has ended.
///
/// Libcurl 8.14.1 and 8.23.0 fail a request over HTTP/2 or HTTP/3 whose response has arrived as a whole, if the server
/// has closed the connection immediately afterwards: they report that they cannot send on it any more. All versions
/// fail it if the server then resets the stream with an error, as HAProxy does while a body is being sent. A response
/// is known to be complete if all bytes of its length have arrived, or if the trace shows the end of its stream.
extension Transfer {
    /// Whether the response is complete, and libcurl's code only means that the connection or the stream has ended.
    func isCompleteOnLostConnection(_ code: CURLcode) -> Bool {
        // After a challenge, libcurl sends the request again, and the head is that of the challenge.
        guard resends.isAnswered, mayFollowResponse(code), responseBuffer.head?.httpVersion.isMultiplexed == true,
            responseBuffer.failure == nil, let easy
        else { return false }
        // Libcurl counts the bytes that it keeps during a pause.
        guard !responseBuffer.state.hasBytesInLibcurl, request.method != .head else { return false }
        guard let expected = responseBuffer.expectedBytes else { return trace.isStreamClosed }
        return easy.offset(CURLINFO_SIZE_DOWNLOAD_T) >= expected
    }

    /// Whether a code may mean that a connection has ended, or a stream whose body is being sent.
    private func mayFollowResponse(_ code: CURLcode) -> Bool {
        if IdleConnections.codesOfLoss.contains(code) { return true }
        let isSending = request.hasBody && upload.isWhole != true
        return code == CURLE_HTTP2_STREAM && isSending
    }
}
