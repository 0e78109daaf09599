extension RequestError.Kind: CustomStringConvertible {
    /// The failure in a few words.
    public var description: String {
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
        case .cancelled: "the request was cancelled"
        case .sessionShutDown: "the session was shut down"
        case .internal: "an internal error"
        }
    }
}

extension RequestError.InvalidRequestReason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
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

extension RequestError.ParameterEncodingReason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
        switch self {
        case .encoderFailed: "the parameters could not be encoded"
        }
    }
}

extension RequestError.ConnectionReason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
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

extension RequestError.TimeoutStage: CustomStringConvertible {
    /// The time limit in a few words.
    public var description: String {
        switch self {
        case .connect: "connecting took too long"
        case .idle: "nothing was sent or received for too long"
        case .total: "the exchange took too long"
        }
    }
}

extension RequestError.TrustReason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
        switch self {
        case .certificateExpired: "the server's certificate has expired or is not valid yet"
        case .untrustedIssuer: "no trusted authority vouches for the server's certificate"
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

extension RequestError.RevocationReason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
        switch self {
        case .revoked: "a certificate of the server's was revoked"
        case .unknown: "the responder does not know the server's certificate"
        case .noResponse: "nothing says that the server's certificate was not revoked"
        case .stale: "what says that the server's certificate was not revoked does not hold any more, or not yet"
        case .untrustedResponse: "what is said about the server's certificate is not signed by one who may say it"
        case .replayedResponse: "what is said about the server's certificate may be an old answer"
        }
    }
}

extension RequestError.InvalidResponseReason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
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

extension RequestError.ValidationReason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
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

extension RequestError.SerializationReason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
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
