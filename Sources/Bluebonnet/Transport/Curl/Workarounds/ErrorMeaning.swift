import CCurl

/// What a failure means that libcurl says with words alone, since its code stands for several.
///
/// No other place decides by the text of an error.
enum ErrorMeaning: Equatable {
    /// The certificate is another host's.
    case hostMismatch
    /// The heads of an exchange are too large together, or too many.
    case tooManyHeads
    /// A head of HTTP/2, which is handed over as a whole, is too large.
    case headTooLarge
    case unsupportedProxy
    case malformedChunk
    /// The proxy did not make a tunnel.
    case noTunnel
    /// The peer has ended TLS with an alert (RFC 8446 §6.2).
    case alert(RequestError.TrustReason)
    case undecodable
    /// Libcurl has sent the request several times, each time on another connection.
    case sentInVain

    /// Words with which a version of libcurl says it, in messages about some codes.
    private struct Phrase {
        let meaning: ErrorMeaning
        let words: String
        let codes: [CURLcode]
        /// The first version that says so, and the first that does not any more.
        var versions: Range<UInt32> = 0..<UInt32.max
    }

    private static let phrases = [
        Phrase(
            meaning: .hostMismatch, words: "target host name", codes: [CURLE_PEER_FAILED_VERIFICATION],
            versions: 0..<0x08_09_00),
        Phrase(
            meaning: .hostMismatch, words: "target hostname", codes: [CURLE_PEER_FAILED_VERIFICATION],
            versions: 0x08_09_00..<UInt32.max),
        Phrase(meaning: .tooManyHeads, words: "Too large response headers", codes: [CURLE_RECV_ERROR]),
        Phrase(meaning: .tooManyHeads, words: "response headers", codes: [tooLarge]),
        // Libcurl refused a field. In later versions, which take larger heads, -902 has other reasons as well.
        Phrase(
            meaning: .headTooLarge, words: "nghttp2_session_mem_recv() returned -902", codes: [CURLE_RECV_ERROR],
            versions: 0..<0x08_0d_00),
        // The head has more frames than nghttp2 takes: 128 KiB of full ones, beside the first.
        Phrase(
            meaning: .headTooLarge, words: "nghttp2_session_mem_recv() returned -905", codes: [CURLE_RECV_ERROR],
            versions: 0..<0x08_0d_00),
        Phrase(
            meaning: .headTooLarge, words: "nghttp2 recv error -905", codes: [CURLE_HTTP2, CURLE_RECV_ERROR],
            versions: 0x08_0d_00..<UInt32.max),
        Phrase(
            meaning: .unsupportedProxy, words: proxyWords,
            codes: [CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT]),
        Phrase(meaning: .malformedChunk, words: "chunk", codes: [CURLE_RECV_ERROR]),
        Phrase(meaning: .noTunnel, words: "CONNECT", codes: [CURLE_RECV_ERROR]),
        Phrase(meaning: .undecodable, words: "unencoding", codes: [CURLE_WRITE_ERROR]),
        Phrase(meaning: .sentInVain, words: "before giving up", codes: [CURLE_SEND_ERROR]),
    ]

    /// `CURLE_TOO_LARGE`, which libcurl has had since 8.6.0.
    static let tooLarge = CURLcode(100)

    private static let proxyWords = "Unsupported proxy"

    /// Reads a message of libcurl's; `nil` when it says no more than the code.
    init?(of code: CURLcode, saying message: String, version: UInt32 = Libcurl.version) {
        let phrase = Self.phrases.first {
            $0.codes.contains(code) && $0.versions.contains(version) && message.contains($0.words)
        }
        if let phrase {
            self = phrase.meaning
        } else if [CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_SSL_CONNECT_ERROR].contains(code),
            message.contains("SSL routines"), let alert = message.firstRange(of: " alert ")
        {
            self = .alert(Self.reason(ofAlert: message[alert.upperBound...]))
        } else {
            return nil
        }
    }

    /// What a server's alert says, by OpenSSL's words for it.
    private static func reason(ofAlert words: Substring) -> RequestError.TrustReason {
        if words.hasPrefix("certificate required") { return .clientCertificateRequired }
        let refusals = [
            "bad certificate", "unsupported certificate", "certificate revoked", "certificate expired",
            "certificate unknown", "unknown ca",
        ]
        return refusals.contains { words.hasPrefix($0) } ? .clientCertificateRefused : .handshake
    }

    /// Libcurl's words without secrets: the only ones that quote a URL are those about a proxy's.
    static func redacted(_ message: String) -> String {
        guard message.hasPrefix(proxyWords), let first = message.firstIndex(of: "'"),
            let last = message.lastIndex(of: "'"), first < last
        else { return message }
        return message[...first] + redactedURL(String(message[first..<last].dropFirst())) + message[last...]
    }
}
