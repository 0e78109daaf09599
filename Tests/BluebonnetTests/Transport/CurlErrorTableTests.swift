import CCurl
import Testing

@testable import Bluebonnet

/// Without ``CurlErrorText``, a head that is too large, a broken tunnel and a refused certificate are a lost connection.
@Suite struct CurlErrorTableTests {
    typealias FailureContext = CurlErrorTable.FailureContext

    @Test func `Every code that HTTP can cause has its own kind`() {
        // Codes of other protocols, of options and of memory, which do not describe the exchange.
        let internals: Set<UInt32> = Set(
            [
                CURLE_FAILED_INIT, CURLE_NOT_BUILT_IN, CURLE_WRITE_ERROR, CURLE_READ_ERROR, CURLE_OUT_OF_MEMORY,
                CURLE_BAD_FUNCTION_ARGUMENT, CURLE_UNKNOWN_OPTION,
                CURLE_CHUNK_FAILED, CURLE_AUTH_ERROR, CURLE_LOGIN_DENIED,
                CURLE_REMOTE_ACCESS_DENIED, CURLE_REMOTE_FILE_NOT_FOUND, CURLE_UPLOAD_FAILED,
                CURLE_FILE_COULDNT_READ_FILE, CURLE_BAD_DOWNLOAD_RESUME, CURLE_QUOTE_ERROR,
                CURLE_REMOTE_DISK_FULL, CURLE_REMOTE_FILE_EXISTS, CURLE_SSH,
                CURLE_LDAP_CANNOT_BIND, CURLE_LDAP_SEARCH_FAILED, CURLE_TFTP_NOTFOUND, CURLE_TFTP_PERM,
                CURLE_TFTP_ILLEGAL, CURLE_TFTP_UNKNOWNID, CURLE_TFTP_NOSUCHUSER,
                CURLE_SETOPT_OPTION_SYNTAX, CURLE_RTSP_CSEQ_ERROR, CURLE_RTSP_SESSION_ERROR,
                CURLE_FTP_WEIRD_PASS_REPLY, CURLE_FTP_ACCEPT_FAILED, CURLE_FTP_ACCEPT_TIMEOUT,
                CURLE_FTP_WEIRD_PASV_REPLY, CURLE_FTP_WEIRD_227_FORMAT, CURLE_FTP_CANT_GET_HOST,
                CURLE_FTP_COULDNT_SET_TYPE, CURLE_FTP_COULDNT_RETR_FILE, CURLE_FTP_PORT_FAILED,
                CURLE_FTP_COULDNT_USE_REST, CURLE_FTP_PRET_FAILED, CURLE_FTP_BAD_FILE_LIST, CURLE_RECURSIVE_API_CALL,
            ].map(\.rawValue)
                // Codes that not all headers name, and that HTTP does not cause, or 100 only with a message.
                + [34, 41, 62, 75, 76, 100, 101])
        for raw in 1..<CURL_LAST.rawValue {
            let words = unsafe String(cString: curl_easy_strerror(CURLcode(raw)))
            guard words != "Unknown error" else { continue }
            let kind = CurlErrorTable.kind(of: CURLcode(raw))
            #expect((kind == .internal) == internals.contains(raw), "\(raw) \(words): \(kind)")
        }
    }

    @Test func `A code from the future is an internal error`() {
        #expect(CurlErrorTable.kind(of: CURLcode(9_999)) == .internal)
        #expect(CurlErrorTable.kind(of: CURLcode(9_999), in: FailureContext()) == .internal)
    }

    struct Row: Sendable {
        let code: CURLcode
        let context: @Sendable (inout FailureContext) -> Void
        let kind: RequestError.Kind
    }

    static let rows: [Row] = [
        Row(code: CURLE_OPERATION_TIMEDOUT, context: { _ in }, kind: .timedOut(.connect)),
        Row(code: CURLE_OPERATION_TIMEDOUT, context: { $0.wasSent = true }, kind: .timedOut(.connect)),
        Row(code: CURLE_BAD_FUNCTION_ARGUMENT, context: { _ in }, kind: .internal),
        Row(
            code: CURLE_BAD_FUNCTION_ARGUMENT, context: { $0.wasSent = true },
            kind: .invalidResponse(.malformed)),
        Row(code: CURLE_PEER_FAILED_VERIFICATION, context: { _ in }, kind: .trust(.hostMismatch)),
        Row(code: CURLE_PEER_FAILED_VERIFICATION, context: { $0.verifyResult = 1 }, kind: .trust(.hostMismatch)),
        Row(
            code: CURLE_PEER_FAILED_VERIFICATION, context: { $0.verifyResult = 10 },
            kind: .trust(.certificateExpired)),
        Row(
            code: CURLE_PEER_FAILED_VERIFICATION, context: { $0.verifyResult = 9 },
            kind: .trust(.certificateExpired)),
        Row(code: CURLE_PEER_FAILED_VERIFICATION, context: { $0.verifyResult = 18 }, kind: .trust(.selfSigned)),
        Row(
            code: CURLE_PEER_FAILED_VERIFICATION, context: { $0.verifyResult = 20 },
            kind: .trust(.untrustedIssuer)),
        Row(
            code: CURLE_PEER_FAILED_VERIFICATION, context: { $0.verifyResult = 23 },
            kind: .trust(.certificateRefused)),
        Row(code: CURLE_UNSUPPORTED_PROTOCOL, context: { $0.wasSent = true }, kind: .invalidResponse(.malformed)),
        Row(
            code: CURLE_OUT_OF_MEMORY,
            context: {
                $0.wasSent = true
                $0.headLimit = 7
            }, kind: .invalidResponse(.headTooLarge(limit: 7))),
        Row(
            code: CURLcode(100),
            context: {
                $0.wasSent = true
                $0.headLimit = 1 << 30
            }, kind: .invalidResponse(.headTooLarge(limit: 100 * 1024))),
        Row(
            code: CURLcode(100),
            context: {
                $0.wasSent = true
                $0.headLimit = 1 << 30
                $0.message = "Too many response headers, 5000 is max"
            }, kind: .invalidResponse(.headTooLarge(limit: 300 * 1024))),
        Row(
            code: CURLE_RECV_ERROR, context: { $0.message = "Illegal or missing hexadecimal sequence in chunk" },
            kind: .invalidResponse(.malformed)),
        Row(
            code: CURLE_RECV_ERROR, context: { $0.message = "Proxy CONNECT aborted" }, kind: .connection(.proxy)),
        Row(
            code: CURLE_RECV_ERROR, context: { $0.message = "Connection reset by peer" },
            kind: .connection(.lost)),
        Row(
            code: CURLE_RECV_ERROR,
            context: {
                $0.message = "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0"
            }, kind: .trust(.clientCertificateRequired)),
        Row(
            code: CURLE_SSL_CONNECT_ERROR,
            context: { $0.message = "error:0A000418:SSL routines::tlsv1 alert unknown ca" },
            kind: .trust(.clientCertificateRefused)),
        Row(
            code: CURLE_PEER_FAILED_VERIFICATION,
            context: { $0.message = "SSL certificate verification failed" },
            kind: .trust(.clientCertificateRefused)),
        Row(
            code: CURLE_SSL_CONNECT_ERROR,
            context: { $0.message = "error:0A000410:SSL routines::sslv3 alert handshake failure" },
            kind: .trust(.handshake)),
        Row(
            code: CURLE_SEND_ERROR, context: { $0.message = "SSL_write() error:SSL routines::an alert came" },
            kind: .trust(.handshake)),
        Row(
            code: CURLE_RECV_ERROR, context: { $0.message = "SSL routines::unexpected eof while reading" },
            kind: .connection(.lost)),
        Row(
            code: CURLE_HTTP2,
            context: {
                $0.message = "nghttp2 recv error -905: Too many CONTINUATION frames following a HEADER frame"
                $0.headLimit = 1 << 30
            }, kind: .invalidResponse(.headTooLarge(limit: 128 * 1024))),
        Row(code: CURLE_HTTP2, context: { $0.message = "nghttp2 recv error" }, kind: .connection(.http2)),
        Row(
            code: CURLE_HTTP2, context: { _ in },
            kind: Libcurl.version < 0x08_01_00 ? .connection(.http2) : .connection(.lost)),
        Row(
            code: CURLE_HTTP2, context: { $0.message = "Send failure: Broken pipe" },
            kind: Libcurl.version < 0x08_01_00 ? .connection(.http2) : .connection(.lost)),
        // The text is that of the first sending.
        Row(
            code: CURLE_HTTP2,
            context: {
                $0.message = "Send failure: Broken pipe"
                $0.wasResent = true
            }, kind: .connection(.http2)),
        Row(code: CURLE_WEIRD_SERVER_REPLY, context: { _ in }, kind: .connection(.proxy)),
        Row(code: CURLE_WEIRD_SERVER_REPLY, context: { $0.wasSent = true }, kind: .invalidResponse(.malformed)),
        Row(
            code: CURLE_RECV_ERROR,
            context: {
                $0.message = "OpenSSL SSL_read: error:0A000438:SSL routines::tlsv1 alert internal error"
                ($0.wasSent, $0.hasHead) = (true, true)
            }, kind: .connection(.lost)),
        Row(
            code: CURLE_INTERFACE_FAILED, context: { $0.message = "Couldn't bind to interface 'a'" },
            kind: .connection(.interface)),
        Row(
            code: CURLE_WRITE_ERROR, context: { $0.message = "Error while processing content unencoding: x" },
            kind: .invalidResponse(.undecodableContent)),
    ]

    @Test(arguments: rows)
    func `A FailureContext distinguishes the meanings of a code`(row: Row) {
        var context = FailureContext()
        row.context(&context)
        #expect(CurlErrorTable.kind(of: row.code, in: context) == row.kind)
    }
    @Test(
        arguments: [
            (CURLE_PEER_FAILED_VERIFICATION, "no name matches target host name 'a'", 0x07_58_01, .hostMismatch),
            (CURLE_PEER_FAILED_VERIFICATION, "no name matches target hostname 'a'", 0x08_09_00, .hostMismatch),
            (CURLE_PEER_FAILED_VERIFICATION, "no name matches target host name 'a'", 0x08_09_00, nil),
            (CURLE_PEER_FAILED_VERIFICATION, "matches target ipv4 address '1.2.3.4'", 0x08_0e_01, .hostMismatch),
            (CURLE_PEER_FAILED_VERIFICATION, "matches target IPv6 address '::1'", 0x08_17_00, .hostMismatch),
            (CURLE_COULDNT_CONNECT, "CONNECT tunnel failed, response 502", 0x08_17_00, .noTunnel),
            (CURLE_COULDNT_CONNECT, "Failed to connect to a:1", 0x08_17_00, nil),
            (CURLE_HTTP3, "HTTP/3 stream 0 reset by server", 0x08_0e_01, .brokenQUICStream),
            (CURLE_HTTP3, "QUIC connection lost", 0x08_0e_01, nil),
            (CURLE_HTTP2, "Send failure: Broken pipe", 0x08_17_00, .lost),
            (CURLE_HTTP2, "Recv failure: Connection reset by peer", 0x08_0e_01, .lost),
            (CURLE_HTTP2, "Send failure: Broken pipe", 0x07_58_01, nil),
            (CURLE_HTTP2, "OpenSSL SSL_read: SSL routines::bad record mac, errno 0", 0x08_17_00, nil),
            (CURLE_BAD_FUNCTION_ARGUMENT, "unable to set private key file: 'a' type PEM", 0x08_17_00, .unusableKey),
            (CURLE_SSL_CERTPROBLEM, "unable to set private key file: 'a' type PEM", 0x07_58_01, .unusableKey),
            (CURLE_SSL_CERTPROBLEM, "could not load PEM client certificate from a", 0x08_17_00, nil),
            (CURLE_UNSUPPORTED_PROTOCOL, "Received HTTP/0.9 when not allowed", 0x08_17_00, .noStatusLine),
            (CURLE_RECV_ERROR, "nghttp2_session_mem_recv() returned -902:callback", 0x08_0c_00, .headTooLarge),
            (
                CURLE_RECV_ERROR, "nghttp2_session_mem_recv() returned -905:Too many CONTINUATION frames", 0x07_58_01,
                .tooManyFrames
            ),
            (CURLE_HTTP2, "nghttp2 recv error -902: The user callback function failed", 0x08_0d_00, nil),
            (CURLE_RECV_ERROR, "nghttp2 recv error -905: Too many CONTINUATION frames", 0x08_17_00, .tooManyFrames),
            (CURLE_HTTP2, "nghttp2 recv error -505: Protocol error", 0x08_0e_01, nil),
            (CURLE_RECV_ERROR, "Too large response headers: 1 > 0", 0x08_03_00, .tooManyHeads),
            (CURLcode(100), "Too many response headers, 5000 is max", 0x08_0e_00, .tooManyFields),
            (CURLE_HTTP2, "nghttp2 recv error -905: Too many CONTINUATION frames", 0x08_0e_01, .tooManyFrames),
            (CURLE_WEIRD_SERVER_REPLY, "[HTTP2] [1] received invalid frame: F", 0x08_0e_01, .brokenStream),
            (CURLE_HTTP2_STREAM, "HTTP/2 stream 1 reset by curl (error 0xb)", 0x08_17_00, .goingAway),
            (CURLE_HTTP2_STREAM, "HTTP/2 stream 1 reset by server (error 0x2)", 0x08_17_00, nil),
            // The value of a field is the server's text, not libcurl's.
            (CURLE_HTTP2_STREAM, "a field, stream: 1, name: [a], value: [reset by curl (error 0xb)]", 0x08_17_00, nil),
            (CURLE_SEND_ERROR, "Connection died, tried 5 times before giving up", 0x07_58_01, .resendsExhausted),
            (CURLE_COULDNT_RESOLVE_PROXY, "Unsupported proxy syntax in 'a'", 0x07_58_01, .unsupportedProxy),
            (CURLE_OPERATION_TIMEDOUT, "Connection died, tried 5 times before giving up", 0x07_58_01, nil),
            (CURLE_RECV_ERROR, "", 0x07_58_01, nil),
        ] as [(CURLcode, String, UInt32, CurlErrorText?)])
    func `Error texts have the meaning of their libcurl version`(
        code: CURLcode, words: String, version: UInt32, meaning: CurlErrorText?
    ) {
        #expect(CurlErrorText(of: code, saying: words, version: version) == meaning)
    }

    /// A request that has failed for its own reason is not explained by what another connection did a moment ago.
    @Test(arguments: [
        (CURLE_RECV_ERROR, true, true), (CURLE_SEND_ERROR, true, true), (CURLE_GOT_NOTHING, true, true),
        (CURLE_HTTP2, true, true), (CURLE_PARTIAL_FILE, false, true), (CURLE_HTTP2_STREAM, false, true),
        (CURLE_WEIRD_SERVER_REPLY, false, false), (CURLE_TOO_MANY_REDIRECTS, false, false),
        (CURLE_BAD_CONTENT_ENCODING, false, false), (CURLE_COULDNT_RESOLVE_HOST, false, false),
        (CURLE_PEER_FAILED_VERIFICATION, false, false), (CURLE_OPERATION_TIMEDOUT, false, false),
    ])
    func `few codes may be the end of a connection that an alert or a flood explains`(
        code: CURLcode, withoutHead: Bool, withHead: Bool
    ) {
        #expect(CurlErrorTable.mayHideAlert(code, hasHead: false) == withoutHead)
        #expect(CurlErrorTable.mayHideAlert(code, hasHead: true) == withHead)
    }

    @Test(arguments: [
        (
            "Invalid HTTP header field was received: stream: 1, name: [set-cookie], value: [id=secret",
            "Invalid HTTP header field was received: stream: 1, name: [set-cookie]"
        ),
        ("name: [a\r\nb\u{1B}c\n]", "name: [a b c ]"),
        ("Unsupported proxy 'http://user:secret@host'", "Unsupported proxy 'http://host'"),
        ("Connection died, tried 5 times before giving up", "Connection died, tried 5 times before giving up"),
    ])
    func `Error texts are one line and contain no secrets`(words: String, redacted: String) {
        #expect(CurlErrorText.redacted(words) == redacted)
    }
}
