// Code in this style names URLs, requests and queues; one import is enough for it.
@_exported public import Bluebonnet
@_exported public import BluebonnetFoundation
@_exported public import Dispatch
public import Foundation
import FoundationNetworking

/// The default session, by the name under which code in this style knows it.
public let AF = Session.default

/// The response of a `DataRequest` with the error type of this module.
public typealias AFDataResponse<Success: Sendable> = DataResponse<Success, AFError>

/// The response of a `DownloadRequest` with the error type of this module.
public typealias AFDownloadResponse<Success: Sendable> = DownloadResponse<Success, AFError>

/// A value, or an error of this module.
public typealias AFResult<Success> = Result<Success, AFError>

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
    /// The value is not a URL that can be requested.
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
        /// The certificate has expired, or is not signed by a trusted authority.
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

extension AFError {
    /// Whether the body to upload could not be read.
    public var isCreateUploadableError: Bool { if case .createUploadableFailed = self { true } else { false } }
    /// Whether the request could not be made.
    public var isCreateURLRequestError: Bool { if case .createURLRequestFailed = self { true } else { false } }
    /// Whether the file could not be moved.
    public var isDownloadedFileMoveError: Bool { if case .downloadedFileMoveFailed = self { true } else { false } }
    /// Whether the request was cancelled.
    public var isExplicitlyCancelledError: Bool { if case .explicitlyCancelled = self { true } else { false } }
    /// Whether something is not a URL.
    public var isInvalidURLError: Bool { if case .invalidURL = self { true } else { false } }
    /// Whether a multipart form could not be encoded.
    public var isMultipartEncodingError: Bool { if case .multipartEncodingFailed = self { true } else { false } }
    /// Whether a `ParameterEncoding` failed.
    public var isParameterEncodingError: Bool { if case .parameterEncodingFailed = self { true } else { false } }
    /// Whether a `ParameterEncoder` failed.
    public var isParameterEncoderError: Bool { if case .parameterEncoderFailed = self { true } else { false } }
    /// Whether an adapter failed.
    public var isRequestAdaptationError: Bool { if case .requestAdaptationFailed = self { true } else { false } }
    /// Whether a retrier reports an error of its own.
    public var isRequestRetryError: Bool { if case .requestRetryFailed = self { true } else { false } }
    /// Whether a validator refused the response.
    public var isResponseValidationError: Bool { if case .responseValidationFailed = self { true } else { false } }
    /// Whether the response could not be turned into a value.
    public var isResponseSerializationError: Bool {
        if case .responseSerializationFailed = self { true } else { false }
    }
    /// Whether the server was not trusted.
    public var isServerTrustEvaluationError: Bool {
        if case .serverTrustEvaluationFailed = self { true } else { false }
    }
    /// Whether the session was gone.
    public var isSessionDeinitializedError: Bool { if case .sessionDeinitialized = self { true } else { false } }
    /// Whether the session was invalid.
    public var isSessionInvalidatedError: Bool { if case .sessionInvalidated = self { true } else { false } }
    /// Whether the exchange failed.
    public var isSessionTaskError: Bool { if case .sessionTaskFailed = self { true } else { false } }
    /// Whether the request cannot be sent as it is.
    public var isURLRequestValidationError: Bool { if case .urlRequestValidationFailed = self { true } else { false } }

    /// The cause of the error: an error of your own code, or a `RequestError`.
    public var underlyingError: (any Error)? {
        switch self {
        case .createUploadableFailed(let error), .createURLRequestFailed(let error),
            .downloadedFileMoveFailed(let error, _, _), .requestAdaptationFailed(let error),
            .requestRetryFailed(let error, _), .sessionTaskFailed(let error),
            .parameterEncoderFailed(.encoderFailed(let error)),
            .parameterEncodingFailed(.jsonEncodingFailed(let error)),
            .parameterEncodingFailed(.customEncodingFailed(let error)),
            .multipartEncodingFailed(.bodyPartFileNotReachableWithError(_, let error)),
            .multipartEncodingFailed(.outputStreamWriteFailed(let error)),
            .multipartEncodingFailed(.inputStreamReadFailed(let error)),
            .responseValidationFailed(.customValidationFailed(let error)),
            .responseSerializationFailed(.jsonSerializationFailed(let error)),
            .responseSerializationFailed(.decodingFailed(let error)),
            .responseSerializationFailed(.customSerializationFailed(let error)),
            .serverTrustEvaluationFailed(.trustEvaluationFailed(let error)),
            .serverTrustEvaluationFailed(.defaultEvaluationFailed(let error)),
            .serverTrustEvaluationFailed(.hostValidationFailed(let error)),
            .serverTrustEvaluationFailed(.revocationCheckFailed(let error)),
            .serverTrustEvaluationFailed(.certificatePinningFailed(let error)),
            .serverTrustEvaluationFailed(.publicKeyPinningFailed(let error)),
            .serverTrustEvaluationFailed(.customEvaluationFailed(let error)):
            error
        case .sessionInvalidated(let error): error
        default: nil
        }
    }

    /// The URL that the error is about, if it is about one.
    public var url: URL? {
        switch self {
        case .invalidURL(let text): URL(string: text)
        case .multipartEncodingFailed(.bodyPartURLInvalid(let url)),
            .multipartEncodingFailed(.bodyPartFilenameInvalid(let url)),
            .multipartEncodingFailed(.bodyPartFileNotReachable(let url)),
            .multipartEncodingFailed(.bodyPartFileNotReachableWithError(let url, _)),
            .multipartEncodingFailed(.bodyPartFileIsDirectory(let url)),
            .multipartEncodingFailed(.outputStreamFileAlreadyExists(let url)),
            .multipartEncodingFailed(.outputStreamURLInvalid(let url)):
            url
        default: nil
        }
    }

    /// The status code that was not acceptable.
    public var responseCode: Int? {
        if case .responseValidationFailed(.unacceptableStatusCode(let code)) = self { code } else { nil }
    }
    /// The content types that are acceptable, of a response that had none of them.
    public var acceptableContentTypes: [String]? {
        switch self {
        case .responseValidationFailed(.missingContentType(let types)): types
        case .responseValidationFailed(.unacceptableContentType(let types, _)): types
        default: nil
        }
    }
    /// The content type that was not acceptable.
    public var responseContentType: String? {
        if case .responseValidationFailed(.unacceptableContentType(_, let type)) = self { type } else { nil }
    }
    /// The encoding in which the body is not text.
    public var failedStringEncoding: String.Encoding? {
        if case .responseSerializationFailed(.stringSerializationFailed(let encoding)) = self { encoding } else { nil }
    }
    /// Where the file is that could not be moved.
    public var sourceURL: URL? { if case .downloadedFileMoveFailed(_, let url, _) = self { url } else { nil } }
    /// Where the file was to be moved.
    public var destinationURL: URL? { if case .downloadedFileMoveFailed(_, _, let url) = self { url } else { nil } }
    /// The data to resume the failed download with, if it can be resumed.
    public var downloadResumeData: Data? { requestError?.resumeData }
    /// The `RequestError` that the error was made of, if it keeps that.
    public var requestError: RequestError? {
        let error = underlyingError
        return error as? RequestError ?? (error as? URLError)?.userInfo[NSUnderlyingErrorKey] as? RequestError
    }
}

extension AFError: LocalizedError, Described {
    /// The error in one sentence, without secrets.
    package var text: String {
        switch self {
        case .explicitlyCancelled: "The request was cancelled."
        case .invalidURL(let url): "This is not a URL that can be requested: \(url)."
        case .sessionDeinitialized: "The session was released before the request started."
        case .responseValidationFailed(let reason): "The response is not acceptable: \(reason)."
        case .responseSerializationFailed(let reason): "The response could not be read: \(reason)."
        case .serverTrustEvaluationFailed(let reason): "The server is not trusted: \(reason)."
        case .multipartEncodingFailed(let reason): "The form could not be encoded: \(reason)."
        case .parameterEncoderFailed(let reason): "The parameters could not be encoded: \(reason)."
        case .parameterEncodingFailed(let reason): "The parameters could not be encoded: \(reason)."
        case .urlRequestValidationFailed(let reason): "The request cannot be sent: \(reason)."
        case .createUploadableFailed(let error): "The body to upload could not be read: \(error)."
        case .createURLRequestFailed(let error): "The request could not be made: \(error)."
        case .downloadedFileMoveFailed(let error, _, let destination):
            "The file could not be moved to \(destination.path): \(error)."
        case .requestAdaptationFailed(let error): "The request could not be adapted: \(error)."
        case .requestRetryFailed(let error, let original): "A retry failed with \(error), after: \(original)"
        case .sessionInvalidated(let error): "The session is invalid: \(error.map { "\($0)" } ?? "no reason given")."
        case .sessionTaskFailed(let error): "The exchange failed: \(error)."
        }
    }

    /// The error in one sentence, without secrets.
    public var errorDescription: String? { description }
}

extension Error {
    /// The error as an ``AFError``, if it is one, or a `RequestError`, which becomes one.
    public var asAFError: AFError? { self as? AFError ?? (self as? RequestError).map(AFError.init) }
}
