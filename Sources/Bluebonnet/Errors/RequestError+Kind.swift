extension RequestError {
    /// Names a failure.
    @nonexhaustive
    public enum Kind: Hashable, Sendable, Described {
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
        /// The server's response is not HTTP, is incomplete, or is more than allowed.
        case invalidResponse(InvalidResponseReason)
        /// The response was refused by a validator.
        case validation(ValidationReason)
        /// The response could not be turned into a value.
        case serialization(SerializationReason)
        /// A downloaded body could not be kept in its file.
        case download(DownloadReason)
        /// The stream of server-sent events cannot be had from this server.
        case eventSource(EventSourceReason)
        /// A reader of a streamed body began after the beginning of the body had been handed out to others.
        case bodyAlreadyRead
        /// The request was cancelled.
        case cancelled
        /// The session was shut down before the request began.
        case sessionShutDown
        /// The library or libcurl met a condition that should not occur; the detail says which.
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
            case .retry(let original): "a retrier gave another error than: \(original)"
            case .redirect(let reason): reason.description
            case .cache(let reason): reason.description
            case .cookies(let reason): reason.description
            case .authentication(let reason): reason.description
            case .connection(let reason): reason.description
            case .timedOut(let stage): stage.description
            case .trust(let reason): reason.description
            case .invalidResponse(let reason): reason.description
            case .validation(let reason): reason.description
            case .serialization(let reason): reason.description
            case .download(let reason): reason.description
            case .eventSource(let reason): reason.description
            case .bodyAlreadyRead: "the body was being read before this reader began"
            case .cancelled: "the request was cancelled"
            case .sessionShutDown: "the session was shut down"
            case .internal: "an internal error"
            }
        }
    }

    /// Says why a request cannot be sent as it is.
    @nonexhaustive
    public enum InvalidRequestReason: Hashable, Sendable, Described {
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

    /// Says why parameters could not be encoded.
    @nonexhaustive
    public enum ParameterEncodingReason: Hashable, Sendable, Described {
        /// The encoder threw; see ``RequestError/underlying``.
        case encoderFailed

        /// The reason in a few words.
        package var text: String { "the parameters could not be encoded" }
    }

    /// Says why a multipart form could not be encoded.
    @nonexhaustive
    public enum MultipartEncodingReason: Hashable, Sendable, Described {
        /// The URL is not one of a file.
        case bodyPartURLInvalid(String)
        /// The file's URL has no last component to make a file name of.
        case bodyPartFilenameInvalid(String)
        /// There is no such file, or it may not be read.
        case bodyPartFileNotReachable(String)
        /// The path is that of a directory.
        case bodyPartFileIsDirectory(String)
        /// The file cannot be read; the detail has the system's error text.
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
        /// The form could not be written; the detail has the system's error text.
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

    /// Says what is wrong with a request's body.
    @nonexhaustive
    public enum RequestBodyReason: Hashable, Sendable, Described {
        /// The URL is not one of a file.
        case notAFileURL(String)
        /// The file cannot be opened or read; the detail has the system's error text.
        case fileUnreadable(path: String)
        /// The path is that of a directory.
        case fileIsDirectory(path: String)
        /// The body has not as many bytes as was stated, or its file changed its size while it was sent.
        case lengthMismatch(expected: Int64, actual: Int64)
        /// The sequence of the body threw; see ``RequestError/underlying``.
        case sequenceFailed
        /// The body can be read once only, and would have to be sent a second time.
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

    /// Says why a redirect is not followed.
    @nonexhaustive
    public enum RedirectReason: Hashable, Sendable, Described {
        /// There were as many redirects as are allowed, and one more.
        case tooMany(limit: Int)
        /// The request was led back to where it had been, in the same way.
        case loop(url: String)
        /// A redirect leads from `https` to `http`, which is not allowed.
        case insecure(url: String)
        /// The `Location` is not a URL that can be requested.
        case invalidLocation(String)
        /// The body would have to be sent a second time, and cannot be.
        case bodyNotReplayable
        /// The handler gave a request that cannot be sent; see ``RequestError/underlying``.
        case invalidRequest

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .tooMany(let limit): "the request was redirected more than \(limit) times"
            case .loop(let url): "the request is redirected in a circle, back to \(url)"
            case .insecure(let url): "a redirect from https leads to \(url)"
            case .invalidLocation(let text): "the redirect's location \(text.debugDescription) cannot be requested"
            case .bodyNotReplayable: "the body cannot be sent again to where the request is redirected"
            case .invalidRequest: "the redirect handler gave a request that cannot be sent"
            }
        }
    }

    /// Says why there is no answer without the network.
    @nonexhaustive
    public enum CacheReason: Hashable, Sendable, Described {
        /// Nothing is stored that could be the answer, or the request's kind is not answered with what is stored.
        case notStored

        /// The reason in a few words.
        package var text: String { "no stored response can be the answer, and the network must not be asked" }
    }

    /// Says why a challenge cannot be answered.
    @nonexhaustive
    public enum AuthenticationReason: Hashable, Sendable, Described {
        /// The server offers no algorithm for Digest that libcurl gets right: MD5 and SHA-256.
        case unsupportedDigestAlgorithm(String)
        /// The server offers no quality of protection for Digest that libcurl gets right: `auth`, or for a request
        /// without a body `auth-int`.
        case unsupportedDigestProtection(String)
        /// Libcurl is built without a scheme that the credential asks for.
        case unsupportedScheme(String)

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .unsupportedDigestAlgorithm(let name):
                "the server asks for Digest with \(name.debugDescription), which is not supported"
            case .unsupportedDigestProtection(let name):
                "the server asks for Digest with the protection \(name.debugDescription), which is not supported"
            case .unsupportedScheme(let name): "libcurl is built without \(name)"
            }
        }
    }

    /// Says why a cookie is not kept, or a file of cookies cannot be used.
    @nonexhaustive
    public enum CookieReason: Hashable, Sendable, Described {
        /// The session keeps no cookies.
        case disabled
        /// The value of `Set-Cookie` has not the form of a cookie.
        case malformed
        /// The name is empty, or holds white space, `=`, `;` or a control character.
        case invalidName
        /// The value holds `;` or a control character, or begins or ends with white space.
        case invalidValue(name: String)
        /// The path does not begin with a slash, or holds `;` or a control character.
        case invalidPath(name: String)
        /// The domain is not the name of a host, or is an address and to include subdomains.
        case invalidDomain(name: String)
        /// The name and the value have more than 4,096 bytes.
        case tooLarge(name: String)
        /// The cookie was to go to all hosts below a public suffix, such as `co.uk`.
        case publicSuffix(name: String, domain: String)
        /// The host that set the cookie does not belong to its domain.
        case foreignDomain(name: String, domain: String)
        /// A secure cookie was set without TLS.
        case insecure(name: String)
        /// The cookie is not what the prefix of its name promises (`__Secure-`, `__Host-`).
        case prefix(name: String)
        /// The URL is not one of a file.
        case notAFileURL(String)
        /// The file of cookies cannot be read; the detail has the system's error text.
        case fileUnreadable(path: String)
        /// The file of cookies cannot be written; the detail has the system's error text.
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
