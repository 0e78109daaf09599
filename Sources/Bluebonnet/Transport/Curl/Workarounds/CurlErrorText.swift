import CCurl

/// The meaning of a failure for which libcurl's error code has several meanings.
///
/// The meaning is determined by libcurl's error message. No other code uses an error message for decisions.
enum CurlErrorText: Equatable {
    /// The certificate belongs to another host.
    case hostMismatch
    /// The heads of an exchange are too many, or their total size is too large.
    case tooManyHeads
    /// The head has more fields than libcurl accepts.
    case tooManyFields
    /// An HTTP/2 head, which is delivered as a whole, is too large.
    case headTooLarge
    /// An HTTP/2 head consists of more frames than nghttp2 accepts.
    case tooManyFrames
    /// An HTTP/2 stream violates the protocol; other streams on its connection may continue.
    case brokenStream
    /// A stream of a QUIC connection was reset, or ended too early; the connection continues.
    case brokenQUICStream
    /// The connection of a stream is shutting down, and the request is not sent again.
    case goingAway
    /// The peer has closed a QUIC connection.
    case closedQUIC
    case unsupportedProxy
    case malformedChunk
    /// The response does not begin with a status line (RFC 9112 §4), which libcurl takes for HTTP/0.9.
    case noStatusLine
    /// The proxy did not open a tunnel.
    case noTunnel
    /// The private key of an identity cannot be used.
    case unusableKey
    /// The peer has ended TLS with an alert (RFC 8446 §6.2).
    case alert(RequestError.TrustReason)
    /// The peer has ended TLS with the alert "certificate expired".
    case expiredAlert
    case undecodable
    /// The connection of an HTTP/2 stream was lost.
    case lost
    /// The tunnel of the connection, which libcurl has chosen for the request, is not open yet; nothing was sent.
    case unconnected
    /// Libcurl has sent the request several times without success, always on another connection.
    case resendsExhausted

    /// The texts of messages for some codes, with the first version of libcurl that has the message, and the first
    /// later version without it.
    private static let patterns: [(meaning: Self, text: String, codes: [CURLcode], versions: Range<UInt32>)] = [
        // Libcurl replaces OpenSSL's message for this alert. A certificate that the client refuses has another message.
        (.expiredAlert, "SSL certificate verification failed", [CURLE_PEER_FAILED_VERIFICATION], allVersions),
        (.hostMismatch, "target host name", [CURLE_PEER_FAILED_VERIFICATION], 0..<0x08_09_00),
        (.hostMismatch, "target hostname", [CURLE_PEER_FAILED_VERIFICATION], 0x08_09_00..<UInt32.max),
        // Libcurl 8.14.1 and 8.23.0 use this message for an address.
        (.hostMismatch, "target ipv", [CURLE_PEER_FAILED_VERIFICATION], 0x08_01_00..<UInt32.max),
        (.hostMismatch, "target IPv", [CURLE_PEER_FAILED_VERIFICATION], 0x08_0f_00..<UInt32.max),
        (.tooManyHeads, "Too large response headers", [CURLE_RECV_ERROR], allVersions),
        (.tooManyFields, "Too many response headers", [tooLarge], 0x08_0e_00..<UInt32.max),
        (.tooManyHeads, "response headers", [tooLarge], allVersions),
        // Libcurl refused a field. Later versions, which accept larger heads, also use -902 for other reasons.
        (.headTooLarge, "nghttp2_session_mem_recv() returned -902", [CURLE_RECV_ERROR], 0..<0x08_0d_00),
        (.tooManyFrames, "Too many CONTINUATION frames", [CURLE_RECV_ERROR, CURLE_HTTP2], allVersions),
        (.brokenStream, "received invalid frame", [CURLE_WEIRD_SERVER_REPLY], 0x08_01_00..<UInt32.max),
        // A stream that itself violated the protocol has a different message.
        (.goingAway, "reset by curl", [CURLE_HTTP2_STREAM], 0x08_0f_00..<UInt32.max),
        (.brokenQUICStream, "HTTP/3 stream", [CURLE_HTTP3], allVersions),
        (.closedQUIC, "QUIC connection has been shut down", [CURLE_COULDNT_CONNECT], 0x08_00_00..<0x08_13_00),
        (.unsupportedProxy, unsupportedProxyText, [CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT], allVersions),
        (.malformedChunk, "chunk", [CURLE_RECV_ERROR], allVersions),
        (.noTunnel, "CONNECT", [CURLE_RECV_ERROR], allVersions),
        (.noTunnel, "CONNECT tunnel failed", [CURLE_COULDNT_CONNECT], 0x08_0f_00..<UInt32.max),
        (.noStatusLine, "HTTP/0.9 when not allowed", [CURLE_UNSUPPORTED_PROTOCOL], allVersions),
        (.unusableKey, "unable to set private key file", [CURLE_SSL_CERTPROBLEM], allVersions),
        (.unusableKey, "unable to set private key file", [CURLE_BAD_FUNCTION_ARGUMENT], 0x08_0f_00..<UInt32.max),
        (.unconnected, "no filter connected", [CURLE_FAILED_INIT], 0..<0x08_03_00),
        // Libcurl 8.23.0 has failed to write or read the socket, and then reports that the stream has no response.
        (.lost, "Send failure: ", [CURLE_HTTP2], 0x08_01_00..<UInt32.max),
        (.lost, "Recv failure: ", [CURLE_HTTP2], 0x08_01_00..<UInt32.max),
        (.undecodable, "unencoding", [CURLE_WRITE_ERROR], allVersions),
        (.resendsExhausted, "before giving up", [CURLE_SEND_ERROR], allVersions),
    ]

    private static let allVersions: Range<UInt32> = 0..<UInt32.max

    /// `CURLE_TOO_LARGE`, which exists since libcurl 8.6.0.
    static let tooLarge = CURLcode(100)

    private static let unsupportedProxyText = "Unsupported proxy"

    /// Interprets a message of libcurl; `nil` if it gives no more information than the code.
    init?(of code: CURLcode, saying message: String, version: UInt32 = Libcurl.version) {
        // The value of an HTTP/2 field is from the server, and must not influence the result.
        let message = message.firstRange(of: Self.fieldName).map { message[..<$0.lowerBound] } ?? message[...]
        let pattern = Self.patterns.first {
            $0.codes.contains(code) && $0.versions.contains(version) && message.contains($0.text)
        }
        if let pattern {
            self = pattern.meaning
        } else if Self.codesOfAlerts.contains(code),
            message.contains("SSL routines"), let alert = message.firstRange(of: " alert ")
        {
            self = .alert(PeerAlert.reason(named: message[alert.upperBound...]))
        } else {
            return nil
        }
    }

    private static let codesOfAlerts = [CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_SSL_CONNECT_ERROR]

    /// Whether libcurl only reports `CURLE_HTTP2` when the peer closes a connection before the response.
    ///
    /// Before 8.1.0, the code meant a GOAWAY. Since then, libcurl sends the request again after a GOAWAY.
    static let omitsCloseReason = Libcurl.version >= 0x08_01_00

    /// Returns libcurl's error message on one line and without secrets.
    ///
    /// A message about a proxy's URL contains the URL. A message about an HTTP/2 field contains the received field.
    static func redacted(_ message: String) -> String {
        guard message.hasPrefix(unsupportedProxyText) else {
            let text = message.firstRange(of: fieldValue).map { message[..<$0.lowerBound] } ?? message[...]
            return String(text.map { $0.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f } ? " " : $0 })
        }
        guard let first = message.firstIndex(of: "'"), let last = message.lastIndex(of: "'"), first < last
        else { return message }
        return message[...first] + redactedURL(String(message[first..<last].dropFirst())) + message[last...]
    }

    private static let fieldName = "name: ["
    private static let fieldValue = ", value: ["
}
