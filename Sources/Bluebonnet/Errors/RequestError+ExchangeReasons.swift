// Failure reasons of requests that were sent or could not be sent.
extension RequestError {
    /// The reason for a connection failure.
    @nonexhaustive
    public enum ConnectionReason: Hashable, Sendable, Described {
        /// The host's name could not be resolved.
        case nameNotResolved
        /// The proxy's name could not be resolved.
        case proxyNameNotResolved
        /// No connection to the server or to a proxy could be made, for example because the connection was refused.
        case refused
        /// The network interface or the local address in the session's configuration is not available.
        case interface
        /// The connection was closed before the response began, or was reset while the response arrived.
        ///
        /// If the connection is closed normally before the end of the body, the request fails with
        /// `.invalidResponse(.truncated)` instead.
        case lost
        /// The proxy refused the request or failed.
        case proxy
        /// An HTTP/2 connection failed as a whole (RFC 9113 §5.4.1), for example after a GOAWAY frame.
        case http2
        /// No QUIC connection could be made, or an HTTP/3 connection failed as a whole (RFC 9114 §8).
        case http3
        /// The connection could not be made for another reason; ``RequestError/detail`` describes the reason.
        case failed

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .nameNotResolved: "the host's name could not be resolved"
            case .proxyNameNotResolved: "the proxy's name could not be resolved"
            case .refused: "no connection could be made"
            case .interface: "the interface to connect from cannot be used"
            case .lost: "the connection was lost"
            case .proxy: "the proxy failed"
            case .http2: "the HTTP/2 connection failed"
            case .http3: "the HTTP/3 connection (QUIC) failed"
            case .failed: "the connection failed"
            }
        }
    }

    /// The time limit that was exceeded.
    @nonexhaustive
    public enum TimeoutStage: Hashable, Sendable, Described {
        /// The request waited too long for other requests to end; see ``Timeouts/queue``.
        case queue
        /// The request waited too long for a free connection; see ``Timeouts/pool``.
        case pool
        /// Name lookup, connecting and the TLS handshake together took too long; see ``Timeouts/connect``.
        case connect
        /// No bytes were sent or received for too long; see ``Timeouts/idle``.
        case idle
        /// Sending the request and receiving the whole response took too long; see ``Timeouts/total``.
        case total

        /// The time limit in a few words.
        package var text: String {
            switch self {
            case .queue: "waiting for other requests to end took too long"
            case .pool: "waiting for a free connection took too long"
            case .connect: "connecting took too long"
            case .idle: "nothing was sent or received for too long"
            case .total: "the exchange took too long"
            }
        }
    }

    /// The reason why the server was not trusted, or TLS could not be set up.
    ///
    /// The server can also be an HTTPS proxy.
    @nonexhaustive
    public enum TrustReason: Hashable, Sendable, Described {
        /// A certificate of the server has expired or is not valid yet.
        case certificateExpired
        /// The server's certificate is not signed by a trusted authority.
        case untrustedIssuer
        /// The server's certificate is self-signed and not trusted.
        case selfSigned
        /// The server's certificate was issued for other hosts.
        case hostMismatch
        /// The verification of the server's certificate chain would need more than 100 signature checks.
        case chainTooLong
        /// The server's certificate was refused for another reason; ``RequestError/detail`` describes the reason.
        case certificateRefused
        /// The TLS handshake failed.
        ///
        /// For example, the client and the server have no version or cipher in common, or the server sent an alert.
        case handshake
        /// The server requires a client certificate, but the client sent none.
        case clientCertificateRequired
        /// The server refused the client's certificate.
        ///
        /// Some servers report the same error if the client sent no certificate.
        case clientCertificateRefused
        /// The configuration contains a certificate, key, authority, revocation list or cipher that cannot be used.
        case configuration
        /// The session's ``ServerTrustManager`` requires evaluators for all hosts, but has no evaluator for the host.
        case noRequiredEvaluator(host: String)
        /// No certificate was found.
        ///
        /// No certificate is pinned for the host, or a file, a directory or data that you passed contains no valid
        /// certificate.
        case noCertificatesFound
        /// No public key was found.
        ///
        /// No public key is pinned for the host, or a pin or a text that you passed contains no valid public key.
        case noPublicKeysFound
        /// None of the server's certificates is pinned.
        case certificatePinningFailed
        /// None of the server's certificates has a pinned public key.
        case publicKeyPinningFailed
        /// A certificate was revoked, or its revocation status could not be determined.
        case revocationCheckFailed(RevocationReason)
        /// A custom evaluator refused the server; its error is in ``RequestError/underlying``.
        case customEvaluationFailed
        /// The server's trust could not be evaluated, so the request was not sent.
        case notEvaluated

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .certificateExpired: "the server's certificate has expired or is not valid yet"
            case .untrustedIssuer: "the server's certificate does not chain to a trusted authority"
            case .selfSigned: "the server's certificate is signed by itself"
            case .hostMismatch: "the server's certificate is for other hosts"
            case .chainTooLong: "the chain of the server's certificates is too long"
            case .certificateRefused: "the server's certificate was refused"
            case .handshake: "the TLS handshake failed"
            case .clientCertificateRequired: "the server demands a certificate of the client"
            case .clientCertificateRefused: "the server does not accept the client's certificate"
            case .configuration: "the TLS configuration cannot be used"
            case .noRequiredEvaluator(let host): "there is no trust evaluator for \(host)"
            case .noCertificatesFound: "there is no certificate to compare with"
            case .noPublicKeysFound: "there is no public key to compare with"
            case .certificatePinningFailed: "none of the server's certificates is a pinned one"
            case .publicKeyPinningFailed: "none of the server's certificates has a pinned key"
            case .revocationCheckFailed(let reason): reason.description
            case .customEvaluationFailed: "the trust evaluator refused the server"
            case .notEvaluated: "the server's trust could not be evaluated"
            }
        }
    }

    /// The reason why a revocation check refused a certificate.
    @nonexhaustive
    public enum RevocationReason: Hashable, Sendable, Described {
        /// The certificate was revoked.
        case revoked
        /// The OCSP server does not know the certificate (`unknown`, RFC 6960 §2.2).
        case unknown
        /// No revocation information about the certificate was received.
        case noResponse
        /// The OCSP response or the revocation list has expired or is not valid yet.
        case stale
        /// The signer of the OCSP response or the revocation list is not authorized.
        case untrustedResponse
        /// The OCSP response does not contain the nonce of the request, so it may be a copy of an old response.
        case replayedResponse

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .revoked: "a certificate of the server's was revoked"
            case .unknown: "the responder does not know the server's certificate"
            case .noResponse: "there is no revocation information about the server's certificate"
            case .stale: "the revocation information has expired or is not valid yet"
            case .untrustedResponse: "the signer of the revocation information is not authorized"
            case .replayedResponse: "the OCSP response lacks the request's nonce and may be replayed"
            }
        }
    }

    /// The reason why a response is invalid.
    @nonexhaustive
    public enum InvalidResponseReason: Hashable, Sendable, Described {
        /// The status line, a header field or the framing of the body violates the HTTP specification.
        case malformed
        /// The head or the trailers of the response have more bytes than the limit.
        case headTooLarge(limit: Int)
        /// The decoded body, or a line or an event of an event stream, has more bytes than the limit.
        case bodyTooLarge(limit: Int64)
        /// The body ended before all of its bytes had arrived.
        case truncated
        /// The body cannot be decoded with the content codings in `Content-Encoding`.
        case undecodableContent
        /// The HTTP/2 stream was reset or violated the protocol (RFC 9113 §5.4.2).
        case http2Stream
        /// The HTTP/3 stream was reset or ended too early (RFC 9114 §8).
        case http3Stream

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .malformed: "the response is malformed"
            case .headTooLarge(let limit): "the head of the response is larger than \(limit) bytes"
            case .bodyTooLarge(let limit): "the body of the response is larger than \(limit) bytes"
            case .truncated: "the response ended before it was complete"
            case .undecodableContent: "the body does not decode as its Content-Encoding says"
            case .http2Stream: "the HTTP/2 stream failed"
            case .http3Stream: "the HTTP/3 stream failed"
            }
        }
    }

    /// The reason why validation refused a response.
    @nonexhaustive
    public enum ValidationReason: Hashable, Sendable, Described {
        /// The status code is not acceptable.
        case unacceptableStatusCode(Int)
        /// The response has a body, but no content type.
        case missingContentType(acceptable: [String])
        /// The content type is not acceptable.
        case unacceptableContentType(String, acceptable: [String])
        /// A custom validator refused the response; its error is in ``RequestError/underlying``.
        case customValidationFailed

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .unacceptableStatusCode(let code): "the status code \(code) is not acceptable"
            case .missingContentType(let acceptable):
                "the response has no content type, but \(acceptable.joined(separator: ", ")) was asked for"
            case .unacceptableContentType(let type, let acceptable):
                "the content type \(type) is not acceptable, but \(acceptable.joined(separator: ", ")) is"
            case .customValidationFailed: "a validator refused the response"
            }
        }
    }

    /// The reason why a response could not be converted to a value.
    @nonexhaustive
    public enum SerializationReason: Hashable, Sendable, Described {
        /// The body is empty, but neither the method nor the status code allows an empty body.
        case inputDataNilOrZeroLength
        /// The response may have an empty body, but the type of the result has no value for an empty body.
        case invalidEmptyResponse(type: String)
        /// The body is not valid text in this encoding.
        case stringSerializationFailed(encoding: String)
        /// The body is not valid JSON.
        case jsonSerializationFailed
        /// The decoder failed; its error is in ``RequestError/underlying``.
        case decodingFailed
        /// A custom serializer failed; its error is in ``RequestError/underlying``.
        case customSerializationFailed

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .inputDataNilOrZeroLength: "the response has no body"
            case .invalidEmptyResponse(let type): "the response has no body, and \(type) has no value for that"
            case .stringSerializationFailed(let encoding): "the body is not text in \(encoding)"
            case .jsonSerializationFailed: "the body is not JSON"
            case .decodingFailed: "the body could not be decoded"
            case .customSerializationFailed: "a serializer failed"
            }
        }
    }

    /// The reason why a download could not be saved or resumed.
    @nonexhaustive
    public enum DownloadReason: Hashable, Sendable, Described {
        /// The destination is not a file URL.
        case destinationInvalid(String)
        /// A file already exists at the destination, and the options do not allow replacing the file.
        case destinationExists(path: String)
        /// The destination is a directory.
        case destinationIsDirectory(path: String)
        /// The partial file cannot be created, for example because its directory does not exist.
        ///
        /// ``RequestError/detail`` contains the system's error text.
        case cannotCreateFile(path: String)
        /// The partial file cannot be written, for example because the disk is full; ``RequestError/detail`` contains
        /// the system's error text.
        case cannotWriteFile(path: String)
        /// The complete file cannot be moved to its destination; ``RequestError/detail`` contains the system's error
        /// text.
        case cannotMoveFile(from: String, to: String)
        /// The downloaded file cannot be read; ``RequestError/detail`` contains the system's error text.
        case cannotReadFile(path: String)
        /// The data that you passed to resume a download is not valid resume data.
        case resumeDataInvalid
        /// The response to a resumed download contains neither the missing bytes nor the whole body.
        case cannotResume(statusCode: Int)
        /// The file does not have the expected checksum; ``RequestError/detail`` contains both checksums.
        case checksumMismatch
        /// The response has no usable checksum, although ``DownloadChecksum/responseField`` requires one.
        case checksumMissing
        /// The file changed on the server several times while its parts were downloaded.
        case changedOnServer

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .destinationInvalid(let url): "the destination \(url) is not a file's URL"
            case .destinationExists(let path): "there is a file at \(path) already"
            case .destinationIsDirectory(let path): "the destination \(path) is a directory"
            case .cannotCreateFile(let path): "the file \(path) cannot be made"
            case .cannotWriteFile(let path): "the file \(path) cannot be written"
            case .cannotMoveFile(let source, let target): "the file \(source) cannot be moved to \(target)"
            case .cannotReadFile(let path): "the file \(path) cannot be read"
            case .resumeDataInvalid: "the data to resume with is not resume data"
            case .cannotResume(let code): "the download cannot be resumed: the server answered with \(code)"
            case .checksumMismatch: "the file has another checksum"
            case .checksumMissing: "the response has no checksum"
            case .changedOnServer: "the file changes on the server while it is downloaded"
            }
        }
    }

    /// The reason why a response is not a stream of server-sent events, or not a complete stream.
    @nonexhaustive
    public enum EventSourceReason: Hashable, Sendable, Described {
        /// The status code is neither 200 nor 204, nor one of ``EventSource/Configuration/reconnectingStatusCodes``.
        case unacceptableStatusCode(Int)
        /// The content type is not `text/event-stream`.
        case unacceptableContentType(String?)
        /// The connection was closed before ``EventSource/Configuration/finalData`` or
        /// ``EventSource/Configuration/finalEvent`` arrived, and the source does not reconnect.
        case missingFinalData

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .unacceptableStatusCode(let code): "there is no event stream: the status code is \(code)"
            case .unacceptableContentType(let type):
                "there is no event stream: the content type is \(type ?? "missing")"
            case .missingFinalData: "the connection was closed before the final data"
            }
        }
    }
}
