import CCurl

/// Maps libcurl's error codes to kinds of errors.
///
/// An unknown code of a later libcurl becomes `.internal`, with libcurl's error message as the detail. Some codes have
/// several meanings, which ``kind(of:in:)`` distinguishes by the circumstances.
enum CurlErrorTable {
    /// The circumstances of a failed transfer.
    struct FailureContext {
        /// Libcurl's error text.
        var message = ""
        /// OpenSSL's verdict on the certificate chain (`X509_V_…`); 0 if the chain was good or there was none.
        var verifyResult = 0
        /// Whether the request was sent.
        var wasSent = false
        /// Whether the request was sent again; libcurl keeps the error text of the first sending.
        var wasResent = false
        /// Whether the head of a response was received.
        var hasHead = false
        /// The maximum size of a head in bytes.
        var headLimit = 0

        /// The kind for a head that is too large for the configuration, or for libcurl.
        fileprivate func headTooLarge(_ limit: Int) -> RequestError.Kind {
            .invalidResponse(.headTooLarge(limit: min(headLimit, limit)))
        }
    }

    /// Returns the kind of a code under the given circumstances.
    static func kind(of code: CURLcode, in context: FailureContext) -> RequestError.Kind {
        switch CurlErrorText(of: code, saying: context.message) {
        case .hostMismatch: .trust(.hostMismatch)
        case .tooManyHeads where context.wasSent || code != CurlErrorText.tooLarge,
            .tooManyFields where context.wasSent:
            context.headTooLarge(300 * 1024)
        // Many small frames count as a large head; the request must not be sent again.
        case .headTooLarge, .tooManyFrames: context.headTooLarge(128 * 1024)
        case .goingAway: .connection(.http2)
        case .closedQUIC: .connection(.http3)
        case .brokenStream: .invalidResponse(.http2Stream)
        case .brokenQUICStream: .invalidResponse(.http3Stream)
        case .unsupportedProxy: .invalidRequest(.configuration("the proxy"))
        case .malformedChunk, .noStatusLine: .invalidResponse(.malformed)
        case .noTunnel, .unconnected: .connection(.proxy)
        case .lost where !context.wasResent: .connection(.lost)
        case .unusableKey: .trust(.configuration)
        // The peer has ended the connection within the response.
        case .alert where context.hasHead, .expiredAlert where context.hasHead: .connection(.lost)
        // With TLS 1.3, a server refuses a client's certificate, or its absence, only after the handshake.
        case .alert(let reason): .trust(reason)
        case .expiredAlert: .trust(.clientCertificateRefused)
        case .undecodable: .invalidResponse(.undecodableContent)
        case .tooManyHeads, .tooManyFields, .resendsExhausted, .lost, nil: kind(byCode: code, in: context)
        }
    }

    private static func kind(byCode code: CURLcode, in context: FailureContext) -> RequestError.Kind {
        switch code {
        case CURLE_PEER_FAILED_VERIFICATION:
            switch context.verifyResult {
            case 0: .trust(.hostMismatch)  // libcurl compares the host name itself
            // The handshake of QUIC ended before libcurl read OpenSSL's verdict, nearly always because of the name.
            case 1: .trust(.hostMismatch)
            default: .trust(.init(ServerTrust.Verdict(code: context.verifyResult, depth: 0)))
            }
        // Libcurl's code for a field that it cannot parse.
        case CURLE_BAD_FUNCTION_ARGUMENT where context.wasSent:
            .invalidResponse(.malformed)
        // The scheme was checked before, so this is libcurl's code for a response that is not HTTP.
        case CURLE_UNSUPPORTED_PROTOCOL where context.wasSent:
            .invalidResponse(.malformed)
        // A single line of a head exceeds libcurl's buffer.
        case CURLE_OUT_OF_MEMORY where context.wasSent && !context.hasHead,
            CurlErrorText.tooLarge where context.wasSent:
            context.headTooLarge(100 * 1024)
        // Before the request, only a proxy responds.
        case CURLE_WEIRD_SERVER_REPLY where !context.wasSent: .connection(.proxy)
        case CURLE_PARTIAL_FILE where !context.hasHead,
            CURLE_HTTP2 where context.message.isEmpty && CurlErrorText.omitsCloseReason:
            .connection(.lost)
        default:
            kind(of: code)
        }
    }

    /// Returns a specific message for a failure for which libcurl has only a general message.
    static func message(for code: CURLcode, in context: FailureContext) -> String? {
        switch CurlErrorText(of: code, saying: context.message) {
        case .expiredAlert: return "the server sent the alert certificate expired"
        case .tooManyFields: return "it has more than 5,000 fields"
        case .noStatusLine: return "it does not begin with a status line, as in HTTP/0.9"
        default: break
        }
        guard context.message.isEmpty else { return nil }
        return switch code {
        case CURLE_BAD_FUNCTION_ARGUMENT where context.wasSent: "a line of the head is not a field"
        case CURLE_HTTP2: "the connection was closed"
        case CURLE_PARTIAL_FILE where !context.hasHead: "the connection was closed"
        default: nil
        }
    }

    /// Whether a code is that of a connection that the peer may have ended with an alert.
    ///
    /// After the head, libcurl reports that the response is incomplete, or has OpenSSL's message for the alert.
    static func mayHideAlert(_ code: CURLcode, hasHead: Bool) -> Bool {
        [CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2].contains(code)
            || hasHead && [CURLE_PARTIAL_FILE, CURLE_HTTP2_STREAM].contains(code)
    }

    /// The configuration's option that caused an error, if the code reveals it.
    static func option(for code: CURLcode) -> String? {
        switch code {
        case CURLE_INTERFACE_FAILED: "interface"
        case CURLE_SSL_CIPHER: "tls.ciphers or tls.cipherSuites"
        default: nil
        }
    }

    /// Returns the kind of a code without the circumstances.
    static func kind(of code: CURLcode) -> RequestError.Kind {
        switch code {
        case CURLE_UNSUPPORTED_PROTOCOL: .invalidRequest(.unsupportedScheme(""))
        case CURLE_URL_MALFORMAT: .invalidURL
        case CURLE_COULDNT_RESOLVE_HOST: .connection(.nameNotResolved)
        case CURLE_COULDNT_RESOLVE_PROXY: .connection(.proxyNameNotResolved)
        case CURLE_COULDNT_CONNECT: .connection(.refused)
        case CURLE_INTERFACE_FAILED: .connection(.interface)
        case CURLE_PROXY: .connection(.proxy)
        // SEND_FAIL_REWIND: the connection was lost, and the body must not be sent again.
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_AGAIN, CURLE_SEND_FAIL_REWIND:
            .connection(.lost)
        case CURLE_HTTP2, CURLE_NO_CONNECTION_AVAILABLE, bb_curle_unrecoverable_poll: .connection(.http2)
        case CURLE_HTTP3, CURLE_QUIC_CONNECT_ERROR: .connection(.http3)
        case CURLE_HTTP2_STREAM: .invalidResponse(.http2Stream)
        // Libcurl has no other limit.
        case CURLE_OPERATION_TIMEDOUT: .timedOut(.connect)
        case CURLE_SSL_CONNECT_ERROR, CURLE_USE_SSL_FAILED, CURLE_SSL_SHUTDOWN_FAILED: .trust(.handshake)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            .trust(.certificateRefused)
        case CURLE_SSL_CLIENTCERT: .trust(.clientCertificateRequired)
        case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_CRL_BADFILE,
            CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED:
            .trust(.configuration)
        case CURLE_PARTIAL_FILE: .invalidResponse(.truncated)
        // This concerns a transfer coding, because Bluebonnet itself decodes the content.
        case CURLE_BAD_CONTENT_ENCODING: .invalidResponse(.malformed)
        case CURLE_WEIRD_SERVER_REPLY, CURLE_RANGE_ERROR, CURLE_HTTP_RETURNED_ERROR, CURLE_TOO_MANY_REDIRECTS:
            .invalidResponse(.malformed)
        case CURLE_FILESIZE_EXCEEDED: .invalidResponse(.bodyTooLarge(limit: 0))
        case CURLE_ABORTED_BY_CALLBACK: .cancelled
        default: .internal
        }
    }
}
