extension RequestError {
    /// Names a failure.
    @nonexhaustive
    public enum Kind: Hashable, Sendable {
        /// The text is not a URL that can be requested; ``RequestError/url`` has the text, redacted like a URL.
        case invalidURL
        /// The request cannot be sent as it is.
        case invalidRequest(InvalidRequestReason)
        /// The parameters could not be encoded.
        case parameterEncoding(ParameterEncodingReason)
        /// A multipart form could not be encoded; ``RequestError/underlying`` has the system's error, if there is one.
        case multipartEncoding(MultipartEncodingReason)
        /// The request's body could not be read, or not be sent as it is.
        case requestBody(RequestBodyReason)
        /// An adapter threw; ``RequestError/underlying`` is what it threw, the detail says which adapter it was.
        case adaptation
        /// A retrier reports another error than that which it was asked about; ``RequestError/underlying`` is what it
        /// reports, and the detail says which retrier it was.
        indirect case retry(original: Kind)
        /// The request was redirected to where it cannot or must not go.
        case redirect(RedirectReason)
        /// The request was not to be answered by the network, and could not be answered otherwise.
        case cache(CacheReason)
        /// A cookie cannot be kept, or a file of cookies not be used.
        case cookies(CookieReason)
        /// The server's challenge cannot be answered.
        case authentication(AuthenticationReason)
        /// No connection could be made, or it was lost.
        case connection(ConnectionReason)
        /// A time limit ran out.
        case timedOut(TimeoutStage)
        /// The server's certificate was refused, or TLS could not be set up.
        case trust(TrustReason)
        /// What the server sent is not HTTP, is incomplete, or is more than allowed.
        case invalidResponse(InvalidResponseReason)
        /// The response was refused by a validator.
        case validation(ValidationReason)
        /// The response could not be turned into a value.
        case serialization(SerializationReason)
        /// A downloaded body could not be kept in its file.
        case download(DownloadReason)
        /// The stream of server-sent events cannot be had from this server.
        case eventSource(EventSourceReason)
        /// The request was cancelled.
        case cancelled
        /// The session was shut down before the request began.
        case sessionShutDown
        /// The library or libcurl met a condition that should not occur; the detail says which.
        case `internal`
    }

    /// Says why a request cannot be sent as it is.
    @nonexhaustive
    public enum InvalidRequestReason: Hashable, Sendable {
        /// The scheme is neither `http` nor `https`.
        case unsupportedScheme(String)
        /// The method is not a token (RFC 9110 §5.6.2).
        case method(String)
        /// The field's name is not a token (RFC 9110 §5.1).
        case fieldName(String)
        /// The value of the named field holds CR, LF or NUL (RFC 9110 §5.5).
        case fieldValue(name: String)
        /// A GET, HEAD or TRACE request has a body.
        case bodyDataInGETRequest
        /// The session's configuration names a file or a value that cannot be used.
        case configuration(String)
        /// Converting the user's own type to a request threw; see ``RequestError/underlying``.
        case conversion
    }

    /// Says why parameters could not be encoded.
    @nonexhaustive
    public enum ParameterEncodingReason: Hashable, Sendable {
        /// The encoder threw; see ``RequestError/underlying``.
        case encoderFailed
    }

    /// Says why a multipart form could not be encoded.
    @nonexhaustive
    public enum MultipartEncodingReason: Hashable, Sendable {
        /// The URL is not one of a file.
        case bodyPartURLInvalid(String)
        /// The file's URL has no last component to make a file name of.
        case bodyPartFilenameInvalid(String)
        /// There is no such file, or it may not be read.
        case bodyPartFileNotReachable(String)
        /// The path is that of a directory.
        case bodyPartFileIsDirectory(String)
        /// The file cannot be read; the detail has the system's words.
        case bodyPartFileUnreadable(String)
        /// A part has not as many bytes as was stated.
        case bodyPartLengthMismatch(name: String, expected: Int64, actual: Int64)
        /// The sequence of a part threw; see ``RequestError/underlying``.
        case bodyPartSequenceFailed(name: String)
        /// The sequence of a part has been read before, and cannot be read a second time.
        case bodyPartNotReplayable(name: String)
        /// The boundary is not one (RFC 2046 §5.1.1), or a part's bytes hold it.
        case boundaryInvalid(String)
        /// The name of a part's field is not a token, or its value holds CR, LF or NUL.
        case bodyPartHeaderInvalid(String)
        /// There is a file already where the form was to be written.
        case outputFileAlreadyExists(String)
        /// The place where the form was to be written is not the URL of a file.
        case outputFileURLInvalid(String)
        /// The form could not be written; the detail has the system's words.
        case outputFileWriteFailed(String)
    }

    /// Says what is wrong with a request's body.
    @nonexhaustive
    public enum RequestBodyReason: Hashable, Sendable {
        /// The URL is not one of a file.
        case notAFileURL(String)
        /// The file cannot be opened or read; the detail has the system's words.
        case fileUnreadable(path: String)
        /// The path is that of a directory.
        case fileIsDirectory(path: String)
        /// The body has not as many bytes as was stated, or its file changed its size while it was sent.
        case lengthMismatch(expected: Int64, actual: Int64)
        /// The sequence of the body threw; see ``RequestError/underlying``.
        case sequenceFailed
        /// The body can be read once only, and would have to be sent a second time.
        case notReplayable
    }

    /// Says what happened to the connection.
    @nonexhaustive
    public enum ConnectionReason: Hashable, Sendable {
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
    }

    /// Names the time limit that ran out.
    @nonexhaustive
    public enum TimeoutStage: Hashable, Sendable {
        /// Name lookup, connecting and TLS together took too long.
        case connect
        /// Nothing was sent or received for too long.
        case idle
        /// One exchange as a whole took too long; see ``Timeouts/total``.
        case total
    }

    /// Says why the server was not trusted.
    @nonexhaustive
    public enum TrustReason: Hashable, Sendable {
        /// The certificate has expired or is not valid yet.
        case certificateExpired
        /// No trusted authority vouches for the certificate.
        case untrustedIssuer
        /// The certificate is signed by itself.
        case selfSigned
        /// The certificate is for other hosts.
        case hostMismatch
        /// To find out who vouches for the certificate takes more than 100 signature checks.
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
    }

    /// Says what is known of the revocation of a certificate that is not accepted.
    @nonexhaustive
    public enum RevocationReason: Hashable, Sendable {
        /// It was revoked.
        case revoked
        /// Whoever was asked does not know it.
        case unknown
        /// Nothing was said about it.
        case noResponse
        /// What was said does not hold any more, or not yet.
        case stale
        /// What was said is not signed by one who may say it.
        case untrustedResponse
        /// What was said may be an old answer: it lacks the question's nonce.
        case replayedResponse
    }

    /// Says what is wrong with a response.
    @nonexhaustive
    public enum InvalidResponseReason: Hashable, Sendable {
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
    }

    /// Says which check a response failed.
    @nonexhaustive
    public enum ValidationReason: Hashable, Sendable {
        /// The status code is not an acceptable one.
        case unacceptableStatusCode(Int)
        /// The response has a body, but no content type.
        case missingContentType(acceptable: [String])
        /// The content type is not an acceptable one.
        case unacceptableContentType(String, acceptable: [String])
        /// A validator of the user's own refused it; see ``RequestError/underlying``.
        case customValidationFailed
    }

    /// Says why a response could not be turned into a value.
    @nonexhaustive
    public enum SerializationReason: Hashable, Sendable {
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
    }

    /// Says why a downloaded body could not be kept.
    @nonexhaustive
    public enum DownloadReason: Hashable, Sendable {
        /// The destination is not the URL of a file.
        case destinationInvalid(String)
        /// There is a file at the destination already, and it is not to be removed.
        case destinationExists(path: String)
        /// The destination is a directory.
        case destinationIsDirectory(path: String)
        /// The partial file cannot be made; the detail has the system's words.
        case cannotCreateFile(path: String)
        /// The partial file cannot be written, as on a full disk; the detail has the system's words.
        case cannotWriteFile(path: String)
        /// The complete file cannot be moved to its destination; the detail has the system's words.
        case cannotMoveFile(from: String, to: String)
        /// The file with the body cannot be read; the detail has the system's words.
        case cannotReadFile(path: String)
        /// The data to resume with is not resume data.
        case resumeDataInvalid
        /// The server answered the request for the rest with something that neither is the rest nor the whole.
        case cannotResume(statusCode: Int)
    }

    /// Says why there is no stream of server-sent events.
    @nonexhaustive
    public enum EventSourceReason: Hashable, Sendable {
        /// The status code is not 200.
        case unacceptableStatusCode(Int)
        /// The content type is not `text/event-stream`.
        case unacceptableContentType(String?)
    }
}
