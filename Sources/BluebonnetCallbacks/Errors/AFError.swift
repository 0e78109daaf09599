public import Foundation

/// Says what went wrong with a request, in the cases that code in this style tests for; made of a `RequestError`.
///
/// ``underlyingError`` is what caused it: an error of your own code where that threw, and the `RequestError` otherwise,
/// which knows more: the URL, the attempts, and the beginning of the response's body.
public enum AFError: Error {
    /// The body to upload could not be read.
    case createUploadableFailed(error: any Error)
    /// The request could not be made of what was to be converted.
    case createURLRequestFailed(error: any Error)
    /// The file could not be moved to its destination.
    case downloadedFileMoveFailed(error: any Error, source: URL, destination: URL)
    /// The request was cancelled.
    case explicitlyCancelled
    /// What was given is not a URL that can be requested.
    case invalidURL(url: String)
    /// A multipart form could not be encoded.
    case multipartEncodingFailed(reason: MultipartEncodingFailureReason)
    /// A `ParameterEncoding` failed.
    case parameterEncodingFailed(reason: ParameterEncodingFailureReason)
    /// A `ParameterEncoder` failed.
    case parameterEncoderFailed(reason: ParameterEncoderFailureReason)
    /// An adapter failed.
    case requestAdaptationFailed(error: any Error)
    /// A retrier reports another error than that which it was asked about.
    case requestRetryFailed(retryError: any Error, originalError: any Error)
    /// The response was refused by a validator.
    case responseValidationFailed(reason: ResponseValidationFailureReason)
    /// The response could not be turned into a value.
    case responseSerializationFailed(reason: ResponseSerializationFailureReason)
    /// The server's certificate was refused, or TLS could not be set up.
    case serverTrustEvaluationFailed(reason: ServerTrustFailureReason)
    /// The session was gone, or shut down, before the request began.
    case sessionDeinitialized
    /// Not made by Bluebonnet, whose sessions do not become invalid with requests under way.
    case sessionInvalidated(error: (any Error)?)
    /// The exchange failed: no connection, no answer in time, or none that is HTTP.
    case sessionTaskFailed(error: any Error)
    /// The request cannot be sent as it is.
    case urlRequestValidationFailed(reason: URLRequestValidationFailureReason)

    /// Says why a multipart form could not be encoded.
    public enum MultipartEncodingFailureReason: Sendable {
        /// The URL is not one of a file.
        case bodyPartURLInvalid(url: URL)
        /// The file's URL has no last component to make a file name of.
        case bodyPartFilenameInvalid(in: URL)
        /// There is no such file, or it may not be read.
        case bodyPartFileNotReachable(at: URL)
        /// The file cannot be read.
        case bodyPartFileNotReachableWithError(atURL: URL, error: any Error)
        /// The path is that of a directory.
        case bodyPartFileIsDirectory(at: URL)
        /// There is a file already where the form was to be written.
        case outputStreamFileAlreadyExists(at: URL)
        /// The place where the form was to be written is not the URL of a file.
        case outputStreamURLInvalid(url: URL)
        /// The form could not be written.
        case outputStreamWriteFailed(error: any Error)
        /// A part could not be read, has another length than stated, or cannot be sent.
        case inputStreamReadFailed(error: any Error)
    }

    /// Says why a `ParameterEncoding` failed.
    public enum ParameterEncodingFailureReason: Sendable {
        /// The request has no URL.
        case missingURL
        /// The parameters are not JSON.
        case jsonEncodingFailed(error: any Error)
        /// An encoding of your own threw.
        case customEncodingFailed(error: any Error)
    }

    /// Says why a `ParameterEncoder` failed.
    public enum ParameterEncoderFailureReason: Sendable {
        /// The encoder threw.
        case encoderFailed(error: any Error)
    }

    /// Says why a response was refused.
    public enum ResponseValidationFailureReason: Sendable {
        /// The file cannot be read.
        case dataFileReadFailed(at: URL)
        /// The response has a body, but no content type.
        case missingContentType(acceptableContentTypes: [String])
        /// The content type is not an acceptable one.
        case unacceptableContentType(acceptableContentTypes: [String], responseContentType: String)
        /// The status code is not an acceptable one.
        case unacceptableStatusCode(code: Int)
        /// A validator of your own refused it.
        case customValidationFailed(error: any Error)
    }

    /// Says why a response could not be turned into a value.
    public enum ResponseSerializationFailureReason: Sendable {
        /// The body is empty, and neither the method nor the status code allows that.
        case inputDataNilOrZeroLength
        /// The file with the body cannot be read.
        case inputFileReadFailed(at: URL)
        /// The body is not text in the encoding, which is `nil` when it is none that Foundation knows.
        case stringSerializationFailed(encoding: String.Encoding?)
        /// The body is not JSON.
        case jsonSerializationFailed(error: any Error)
        /// The decoder threw.
        case decodingFailed(error: any Error)
        /// A serializer of your own threw.
        case customSerializationFailed(error: any Error)
        /// The body is empty, allowed, but the type has no value for that.
        case invalidEmptyResponse(type: String)
    }

    /// Says why a server was not trusted.
    public enum ServerTrustFailureReason: Sendable {
        /// The trust manager has no evaluator for the host, and needs one.
        case noRequiredEvaluator(host: String)
        /// No certificate is pinned.
        case noCertificatesFound
        /// No public key is pinned.
        case noPublicKeysFound
        /// The certificate, a file of the configuration, or the handshake is bad; the error says which.
        case trustEvaluationFailed(error: any Error)
        /// The certificate has expired, or no trusted authority vouches for it.
        case defaultEvaluationFailed(error: any Error)
        /// The certificate is for other hosts.
        case hostValidationFailed(error: any Error)
        /// A certificate was revoked, or it is not known that it was not.
        case revocationCheckFailed(error: any Error)
        /// None of the certificates is a pinned one.
        case certificatePinningFailed(error: any Error)
        /// None of the certificates has a pinned key.
        case publicKeyPinningFailed(error: any Error)
        /// An evaluator of your own refused.
        case customEvaluationFailed(error: any Error)
    }

    /// Says why a request cannot be sent as it is.
    public enum URLRequestValidationFailureReason: Sendable {
        /// A GET, HEAD or TRACE request has a body.
        case bodyDataInGETRequest
    }
}
