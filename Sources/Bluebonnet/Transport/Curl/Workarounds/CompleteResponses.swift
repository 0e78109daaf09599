import CCurl

/// Accepts a complete response although libcurl reports that its connection has ended.
///
/// Libcurl 8.14.1 and 8.23.0 fail a request over HTTP/2 or HTTP/3 whose response has arrived as a whole, if the server
/// has closed the connection immediately afterwards: they report that they cannot send on it any more. A response is
/// known to be complete if all bytes of its length have arrived, or if the trace shows the end of its stream.
extension Transfer {
    /// Whether the response is complete, and libcurl's code only means that the connection has ended.
    func isCompleteOnLostConnection(_ code: CURLcode) -> Bool {
        guard IdleConnections.codesOfLoss.contains(code), responseBuffer.head?.httpVersion.isMultiplexed == true,
            responseBuffer.failure == nil, let easy
        else { return false }
        // Libcurl counts the bytes that it keeps during a pause.
        guard !responseBuffer.state.isReceivingPaused, request.method != .head else { return false }
        guard let expected = responseBuffer.expectedBytes else { return isStreamClosed }
        return easy.offset(CURLINFO_SIZE_DOWNLOAD_T) >= expected
    }
}
