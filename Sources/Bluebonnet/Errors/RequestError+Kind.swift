extension RequestError {
    /// The kind of a failure; most kinds include a reason.
    @nonexhaustive
    public enum Kind: Hashable, Sendable, Described {
        /// The text is not a URL, or the URL cannot be requested.
        ///
        /// ``RequestError/url`` is the text without secrets.
        case invalidURL
        /// The request or the session's configuration is invalid, so the request cannot be sent.
        case invalidRequest(InvalidRequestReason)
        /// The parameters could not be encoded.
        case parameterEncoding(ParameterEncodingReason)
        /// A multipart form could not be encoded.
        ///
        /// If your own sequence failed, ``RequestError/underlying`` is the error of the sequence.
        case multipartEncoding(MultipartEncodingReason)
        /// The body of the request could not be read, or could not be sent as specified.
        case requestBody(RequestBodyReason)
        /// A ``RequestAdapter`` failed.
        ///
        /// ``RequestError/underlying`` is the error of the adapter, and ``RequestError/detail`` names the adapter.
        case adaptation
        /// A ``RequestRetrier`` replaced the error of the request.
        ///
        /// ``RequestError/underlying`` is the new error, and ``RequestError/detail`` names the retrier. `original` is
        /// the kind of the replaced error.
        indirect case retry(original: Kind)
        /// A redirect could not be followed, or is not allowed.
        case redirect(RedirectReason)
        /// The cache has no suitable response, and the request must not use the network.
        case cache(CacheReason)
        /// A cookie cannot be stored, or a cookie file cannot be read or written.
        case cookies(CookieReason)
        /// Bluebonnet cannot respond to the authentication challenge of the server or the proxy.
        case authentication(AuthenticationReason)
        /// The connection could not be made or was lost.
        case connection(ConnectionReason)
        /// A time limit was exceeded.
        case timedOut(TimeoutStage)
        /// A ``CircuitBreaker`` refused the request, because earlier requests for the same key have failed.
        ///
        /// `retryAfter` is the time after which the breaker sends a request as a probe. If probes are already running
        /// and all of them succeed, the breaker sends requests earlier.
        case circuitOpen(retryAfter: Duration)
        /// The server was not trusted, or TLS could not be set up.
        case trust(TrustReason)
        /// The response is not valid HTTP, is incomplete, or is larger than the session allows.
        case invalidResponse(InvalidResponseReason)
        /// Validation refused the response.
        case validation(ValidationReason)
        /// The response could not be converted to a value.
        case serialization(SerializationReason)
        /// The download could not be saved to its file, or could not be resumed.
        case download(DownloadReason)
        /// The response is not a stream of server-sent events, or the stream ended without its final data.
        case eventSource(EventSourceReason)
        /// The server did not accept a WebSocket, or the WebSocket did not end normally.
        case webSocket(WebSocketReason)
        /// A loop over a streamed body began too late, because other loops had already received the first bytes.
        case bodyAlreadyRead
        /// The request was cancelled.
        case cancelled
        /// The session of the request was shut down, or no longer exists.
        case sessionShutDown
        /// An internal error of Bluebonnet or libcurl; ``RequestError/detail`` describes the error.
        case `internal`

        /// The failure in a few words.
        package var text: String {
            switch self {
            case .invalidURL: "not a URL that can be requested"
            case .invalidRequest(let reason): reason.description
            case .parameterEncoding(let reason): reason.description
            case .multipartEncoding(let reason): reason.description
            case .requestBody(let reason): reason.description
            case .adaptation: "an adapter failed"
            case .retry(let original): "a retrier replaced the error of a failure: \(original)"
            case .redirect(let reason): reason.description
            case .cache(let reason): reason.description
            case .cookies(let reason): reason.description
            case .authentication(let reason): reason.description
            case .connection(let reason): reason.description
            case .timedOut(let stage): stage.description
            case .circuitOpen(let delay): "a circuit breaker refused the request and is open for another \(delay)"
            case .trust(let reason): reason.description
            case .invalidResponse(let reason): reason.description
            case .validation(let reason): reason.description
            case .serialization(let reason): reason.description
            case .download(let reason): reason.description
            case .eventSource(let reason): reason.description
            case .webSocket(let reason): reason.description
            case .bodyAlreadyRead: "the body was being read before this reader began"
            case .cancelled: "the request was cancelled"
            case .sessionShutDown: "the session was shut down"
            case .internal: "an internal error"
            }
        }
    }

    /// The reason why a request cannot be sent.
    @nonexhaustive
    public enum InvalidRequestReason: Hashable, Sendable, Described {
        /// The scheme is neither `http` nor `https`.
        case unsupportedScheme(String)
        /// The method is not a token (RFC 9110 §5.6.2).
        case method(String)
        /// The name of a header field is not a token (RFC 9110 §5.1).
        case fieldName(String)
        /// The value of the named header field contains CR, LF or NUL (RFC 9110 §5.5).
        case fieldValue(name: String)
        /// The request has a body, but its method is GET, HEAD or TRACE.
        case bodyDataInGETRequest
        /// The session's configuration or the request contains a file or a value that cannot be used.
        case configuration(String)
        /// Your own code could not create the request; ``RequestError/underlying`` is the error of your code.
        case conversion

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .unsupportedScheme(let scheme): "the scheme \"\(scheme)\" is not supported, only http and https are"
            case .method(let method): "the method \(method.debugDescription) is not a token"
            case .fieldName(let name): "the field name \(name.debugDescription) is not a token"
            case .fieldValue(let name): "the value of the field \(name) holds a CR, LF or NUL"
            case .bodyDataInGETRequest: "a GET, HEAD or TRACE request has a body"
            case .configuration(let text): "the configuration cannot be used: \(text)"
            case .conversion: "the request could not be made"
            }
        }
    }

    /// The reason why parameters could not be encoded.
    @nonexhaustive
    public enum ParameterEncodingReason: Hashable, Sendable, Described {
        /// The encoder failed; its error is in ``RequestError/underlying``.
        case encoderFailed

        /// The reason in a few words.
        package var text: String { "the parameters could not be encoded" }
    }

    /// The reason why a multipart form could not be encoded.
    @nonexhaustive
    public enum MultipartEncodingReason: Hashable, Sendable, Described {
        /// The URL of a part is not a file URL.
        case bodyPartURLInvalid(String)
        /// The URL of a file does not contain a file name.
        case bodyPartFilenameInvalid(String)
        /// The file does not exist, or access to it is denied.
        case bodyPartFileNotReachable(String)
        /// The path belongs to a directory.
        case bodyPartFileIsDirectory(String)
        /// The file cannot be read, or is not a regular file; ``RequestError/detail`` contains the system's error text.
        case bodyPartFileUnreadable(String)
        /// The number of bytes in a part differs from the length that you stated, or the size of the part's file
        /// changed.
        case bodyPartLengthMismatch(name: String, expected: Int64, actual: Int64)
        /// The sequence of a part failed; its error is in ``RequestError/underlying``.
        case bodyPartSequenceFailed(name: String)
        /// The sequence of a part can be read only once, and it has already been read.
        case bodyPartNotReplayable(name: String)
        /// The boundary is invalid (RFC 2046 §5.1.1), or occurs in the bytes of a part.
        case boundaryInvalid(String)
        /// A header field of a part cannot be sent.
        ///
        /// The name is not a token, the value contains CR, LF or NUL, or the field is not allowed in addition to the
        /// arguments of the part.
        case bodyPartHeaderInvalid(String)
        /// A file already exists at the output URL.
        case outputFileAlreadyExists(String)
        /// The output URL is not a file URL.
        case outputFileURLInvalid(String)
        /// The form could not be written; ``RequestError/detail`` contains the system's error text.
        case outputFileWriteFailed(String)

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .bodyPartURLInvalid(let url): "a part of the form is to be read from \(url), which is not a file's URL"
            case .bodyPartFilenameInvalid(let url): "a part of the form has no file name in \(url)"
            case .bodyPartFileNotReachable(let path): "the form's file \(path) cannot be reached"
            case .bodyPartFileIsDirectory(let path): "the form's file \(path) is a directory"
            case .bodyPartFileUnreadable(let path): "the form's file \(path) cannot be read"
            case .bodyPartLengthMismatch(let name, let expected, let actual):
                "the part \(name.debugDescription) of the form has \(actual) bytes instead of \(expected)"
            case .bodyPartSequenceFailed(let name): "the sequence of the form's part \(name.debugDescription) failed"
            case .bodyPartNotReplayable(let name):
                "the sequence of the form's part \(name.debugDescription) cannot be read a second time"
            case .boundaryInvalid(let boundary): "\(boundary.debugDescription) cannot be the form's boundary"
            case .bodyPartHeaderInvalid(let name): "the field \(name.debugDescription) of a part cannot be sent"
            case .outputFileAlreadyExists(let path): "there is a file at \(path) already"
            case .outputFileURLInvalid(let url): "\(url) is not a file's URL"
            case .outputFileWriteFailed(let path): "the form cannot be written to \(path)"
            }
        }
    }

    /// The reason why the body of a request cannot be sent.
    @nonexhaustive
    public enum RequestBodyReason: Hashable, Sendable, Described {
        /// The URL is not a file URL.
        case notAFileURL(String)
        /// The file cannot be opened or read, or is not a regular file; ``RequestError/detail`` contains the system's
        /// error text.
        case fileUnreadable(path: String)
        /// The path belongs to a directory.
        case fileIsDirectory(path: String)
        /// The number of bytes differs from the length that you stated, or the file's size changed during the upload.
        case lengthMismatch(expected: Int64, actual: Int64)
        /// The sequence of the body failed; its error is in ``RequestError/underlying``.
        case sequenceFailed
        /// The body had to be sent again, but it can be read only once.
        case notReplayable

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .notAFileURL(let url): "the body is to be read from \(url), which is not a file's URL"
            case .fileUnreadable(let path): "the body's file \(path) cannot be read"
            case .fileIsDirectory(let path): "the body's file \(path) is a directory"
            case .lengthMismatch(let expected, let actual): "the body has \(actual) bytes instead of \(expected)"
            case .sequenceFailed: "the sequence of the body failed"
            case .notReplayable: "the body cannot be sent a second time"
            }
        }
    }

    /// The reason why a redirect is not followed.
    @nonexhaustive
    public enum RedirectReason: Hashable, Sendable, Described {
        /// The request was redirected more often than the limit allows.
        case tooMany(limit: Int)
        /// The redirects form a loop, so the same request would be sent again and again.
        case loop(url: String)
        /// The redirect leads from `https` to `http`, and the session does not allow insecure redirects.
        case insecure(url: String)
        /// The `Location` field does not contain a URL that can be requested.
        case invalidLocation(String)
        /// The body had to be sent again, but it can be read only once.
        case bodyNotReplayable
        /// The redirect handler returned a request that cannot be sent; the reason is in ``RequestError/underlying``.
        case invalidRequest

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .tooMany(let limit): "the request was redirected more than \(limit) times"
            case .loop(let url): "the request is redirected in a circle, back to \(url)"
            case .insecure(let url): "a redirect from https leads to \(url)"
            case .invalidLocation(let text): "the redirect's location \(text.debugDescription) cannot be requested"
            case .bodyNotReplayable: "the body cannot be sent again to the target of the redirect"
            case .invalidRequest: "the redirect handler gave a request that cannot be sent"
            }
        }
    }

    /// The reason why the cache has no response for a request that must not use the network.
    @nonexhaustive
    public enum CacheReason: Hashable, Sendable, Described {
        /// The session has no cache, or the cache cannot answer the request.
        ///
        /// The cache cannot answer the request if it has no suitable response, or the file of the response cannot be
        /// read. The cache also cannot answer some kinds of requests, such as requests with a body.
        case notStored

        /// The reason in a few words.
        package var text: String { "no stored response can be the answer, and the network must not be asked" }
    }

    /// The reason why Bluebonnet cannot respond to an authentication challenge.
    @nonexhaustive
    public enum AuthenticationReason: Hashable, Sendable, Described {
        /// The first Digest challenge requires an algorithm that libcurl does not implement correctly.
        ///
        /// The server or the proxy offers no other scheme that the credential allows. The algorithms MD5 and SHA-256
        /// work.
        case unsupportedDigestAlgorithm(String)
        /// The first Digest challenge requires a quality of protection (`qop`) that libcurl does not implement
        /// correctly.
        ///
        /// The server or the proxy offers no other scheme that the credential allows. The quality `auth` works. The
        /// quality `auth-int` works only for requests without a body.
        case unsupportedDigestProtection(String)
        /// The installed libcurl supports none of the schemes that the credential allows, or a WebSocket would require
        /// a scheme other than Basic.
        case unsupportedScheme(String)

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .unsupportedDigestAlgorithm(let name):
                "the server asks for Digest with \(name.debugDescription), which is not supported"
            case .unsupportedDigestProtection(let name):
                "the server asks for Digest with the protection \(name.debugDescription), which is not supported"
            case .unsupportedScheme(let name): "\(name) is not supported"
            }
        }
    }

    /// The reason why a cookie cannot be stored, or why a cookie file cannot be read or written.
    @nonexhaustive
    public enum CookieReason: Hashable, Sendable, Described {
        /// The session does not store cookies.
        case disabled
        /// The value of `Set-Cookie` is not a cookie, or the URL has no host.
        case malformed
        /// The name is empty, or contains white space, `=`, `;` or a control character.
        case invalidName
        /// The value contains `;` or a control character, or begins or ends with white space.
        case invalidValue(name: String)
        /// The path is invalid.
        ///
        /// The path does not begin with a slash, is `//`, has more than 4,096 bytes, or contains `;` or a control
        /// character.
        case invalidPath(name: String)
        /// The domain is not a host name, or it is an IP address and the cookie includes subdomains.
        case invalidDomain(name: String)
        /// The name and the value together have more than 4,096 bytes.
        case tooLarge(name: String)
        /// The domain is a public suffix, such as `co.uk`, and the cookie includes subdomains.
        case publicSuffix(name: String, domain: String)
        /// The host that set the cookie is not in the cookie's domain.
        case foreignDomain(name: String, domain: String)
        /// The cookie has the `Secure` attribute, but a host other than the local machine set it without TLS.
        case insecure(name: String)
        /// The cookie violates the rules for the prefix of its name (`__Secure-` or `__Host-`).
        case prefix(name: String)
        /// The URL is not a file URL.
        case notAFileURL(String)
        /// The cookie file cannot be read; ``RequestError/detail`` contains the system's error text.
        case fileUnreadable(path: String)
        /// The cookie file cannot be written; ``RequestError/detail`` contains the system's error text.
        case fileUnwritable(path: String)

        /// The reason in a few words, without the cookie's value.
        package var text: String {
            switch self {
            case .disabled: "the session keeps no cookies"
            case .malformed: "the value of Set-Cookie is not a cookie"
            case .invalidName: "the name of a cookie cannot be sent"
            case .invalidValue(let name): "the value of the cookie \(name.debugDescription) cannot be sent"
            case .invalidPath(let name): "the path of the cookie \(name.debugDescription) is not one"
            case .invalidDomain(let name): "the domain of the cookie \(name.debugDescription) is not a host"
            case .tooLarge(let name): "the cookie \(name.prefix(40).debugDescription) has more than 4,096 bytes"
            case .publicSuffix(let name, let domain):
                "the cookie \(name.debugDescription) would go to all hosts of \(domain.debugDescription)"
            case .foreignDomain(let name, let domain):
                "the cookie \(name.debugDescription) is for another domain, \(domain.debugDescription)"
            case .insecure(let name): "the secure cookie \(name.debugDescription) was set without TLS"
            case .prefix(let name): "the cookie \(name.debugDescription) is not what its prefix promises"
            case .notAFileURL(let url): "the URL \(url.debugDescription) is not one of a file"
            case .fileUnreadable(let path): "the cookies in \(path) cannot be read"
            case .fileUnwritable(let path): "the cookies cannot be written to \(path)"
            }
        }
    }
}
