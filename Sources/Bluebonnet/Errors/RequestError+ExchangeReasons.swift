// The reasons for which a request failed that was sent, or could not be.
extension RequestError {
    /// Says what happened to the connection.
    @nonexhaustive
    public enum ConnectionReason: Hashable, Sendable, Described {
        /// The host's name could not be resolved.
        case nameNotResolved
        /// The proxy's name could not be resolved.
        case proxyNameNotResolved
        /// No connection could be made, to the server or to a proxy: refused, unreachable.
        case refused
        /// The interface or the address that connections were to leave by is not there.
        case interface
        /// The connection was closed before the response began, or reset while it arrived; a body that just ends too early is
        /// `.invalidResponse(.truncated)`.
        case lost
        /// A proxy was reached, and refused or failed.
        case proxy
        /// An HTTP/2 connection failed as a whole (RFC 9113 §5.4.1), such as by GOAWAY.
        case http2
        /// The connection could not be set up for another reason; the detail says which.
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
            case .failed: "the connection failed"
            }
        }
    }

    /// Names the time limit that ran out.
    @nonexhaustive
    public enum TimeoutStage: Hashable, Sendable, Described {
        /// Waiting until the session's limits allowed a connection took too long.
        case pool
        /// Name lookup, connecting and TLS together took too long.
        case connect
        /// Nothing was sent or received for too long.
        case idle
        /// One exchange as a whole took too long; see ``Timeouts/total``.
        case total

        /// The time limit in a few words.
        package var text: String {
            switch self {
            case .pool: "waiting for a free connection took too long"
            case .connect: "connecting took too long"
            case .idle: "nothing was sent or received for too long"
            case .total: "the exchange took too long"
            }
        }
    }

    /// Says why the server was not trusted.
    @nonexhaustive
    public enum TrustReason: Hashable, Sendable, Described {
        /// The certificate has expired or is not valid yet.
        case certificateExpired
        /// The certificate is not signed by a trusted authority.
        case untrustedIssuer
        /// The certificate is signed by itself.
        case selfSigned
        /// The certificate is for other hosts.
        case hostMismatch
        /// Verifying the chain takes more than 100 signature checks.
        case chainTooLong
        /// The certificate was refused for another reason; the detail says which.
        case certificateRefused
        /// The handshake failed: no common version or cipher, or an alert from the server.
        case handshake
        /// The server demands a certificate of the client, and was shown none.
        case clientCertificateRequired
        /// The server does not accept the certificate that it was shown, or that there was none.
        case clientCertificateRefused
        /// A certificate, a key or authorities of the configuration cannot be used.
        case configuration
        /// The session's ``ServerTrustManager`` has no evaluator for the host, and needs one.
        case noRequiredEvaluator(host: String)
        /// No certificate is pinned, or there is none where one was to be read.
        case noCertificatesFound
        /// No public key is pinned, or there is none where one was to be read.
        case noPublicKeysFound
        /// None of the certificates is a pinned one.
        case certificatePinningFailed
        /// None of the certificates has a pinned key.
        case publicKeyPinningFailed
        /// A certificate was revoked, or it is not known that it was not.
        case revocationCheckFailed(RevocationReason)
        /// An evaluator of the user's own refused; see ``RequestError/underlying``.
        case customEvaluationFailed
        /// The evaluator could not be asked, and so nothing was sent.
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
        /// It was revoked.
        case revoked
        /// The responder does not know the certificate (`unknown`, RFC 6960 §2.2).
        case unknown
        /// No revocation information about the certificate was received.
        case noResponse
        /// The OCSP response or the list has expired or is not valid yet.
        case stale
        /// The signer of the OCSP response or the list is not authorized.
        case untrustedResponse
        /// The OCSP response may be replayed: it lacks the nonce of the request.
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

    /// Says what is wrong with a response.
    @nonexhaustive
    public enum InvalidResponseReason: Hashable, Sendable, Described {
        /// The status line, a field or the framing breaks the rules of HTTP.
        case malformed
        /// The head is larger than the limit, in bytes.
        case headTooLarge(limit: Int)
        /// The body is larger than the limit, in bytes; compressed bodies are counted as decoded.
        case bodyTooLarge(limit: Int64)
        /// The body ended before it was complete.
        case truncated
        /// The body does not decode as its `Content-Encoding` says.
        case undecodableContent
        /// The HTTP/2 stream was reset or broke the rules (RFC 9113 §5.4.2).
        case http2Stream

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .malformed: "the response is malformed"
            case .headTooLarge(let limit): "the head of the response is larger than \(limit) bytes"
            case .bodyTooLarge(let limit): "the body of the response is larger than \(limit) bytes"
            case .truncated: "the response ended before it was complete"
            case .undecodableContent: "the body does not decode as its Content-Encoding says"
            case .http2Stream: "the HTTP/2 stream failed"
            }
        }
    }

    /// Says which check a response failed.
    @nonexhaustive
    public enum ValidationReason: Hashable, Sendable, Described {
        /// The status code is not an acceptable one.
        case unacceptableStatusCode(Int)
        /// The response has a body, but no content type.
        case missingContentType(acceptable: [String])
        /// The content type is not an acceptable one.
        case unacceptableContentType(String, acceptable: [String])
        /// A validator of the user's own refused it; see ``RequestError/underlying``.
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

    /// Says why a response could not be turned into a value.
    @nonexhaustive
    public enum SerializationReason: Hashable, Sendable, Described {
        /// The body is empty, and neither the method nor the status code allows that.
        case inputDataNilOrZeroLength
        /// The body is empty, allowed, but the type has no value for that.
        case invalidEmptyResponse(type: String)
        /// The body is not text in the named encoding.
        case stringSerializationFailed(encoding: String)
        /// The body is not JSON.
        case jsonSerializationFailed
        /// The decoder threw; see ``RequestError/underlying``.
        case decodingFailed
        /// A serializer of the user's own threw; see ``RequestError/underlying``.
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

    /// Says why a downloaded body could not be kept.
    @nonexhaustive
    public enum DownloadReason: Hashable, Sendable, Described {
        /// The destination is not the URL of a file.
        case destinationInvalid(String)
        /// There is a file at the destination already, and it is not to be removed.
        case destinationExists(path: String)
        /// The destination is a directory.
        case destinationIsDirectory(path: String)
        /// The partial file cannot be created; the detail has the system's error text.
        case cannotCreateFile(path: String)
        /// The partial file cannot be written, as on a full disk; the detail has the system's error text.
        case cannotWriteFile(path: String)
        /// The complete file cannot be moved to its destination; the detail has the system's error text.
        case cannotMoveFile(from: String, to: String)
        /// The file with the body cannot be read; the detail has the system's error text.
        case cannotReadFile(path: String)
        /// The data to resume with is not resume data.
        case resumeDataInvalid
        /// The server answered the request for the rest with something that neither is the rest nor the whole.
        case cannotResume(statusCode: Int)

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
            }
        }
    }

    /// Says why there is no stream of server-sent events.
    @nonexhaustive
    public enum EventSourceReason: Hashable, Sendable, Described {
        /// The status code is not 200.
        case unacceptableStatusCode(Int)
        /// The content type is not `text/event-stream`.
        case unacceptableContentType(String?)

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .unacceptableStatusCode(let code): "there is no event stream: the status code is \(code)"
            case .unacceptableContentType(let type):
                "there is no event stream: the content type is \(type ?? "missing")"
            }
        }
    }
}
