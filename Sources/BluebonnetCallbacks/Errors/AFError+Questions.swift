public import Bluebonnet
public import Foundation
import FoundationNetworking

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

    /// What caused the error: one of your own code's, or a `RequestError`.
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
    /// What the download that failed can be resumed with, if it can.
    public var downloadResumeData: Data? { requestError?.resumeData }
    /// The `RequestError` that the error was made of, if it keeps that.
    public var requestError: RequestError? {
        let error = underlyingError
        return error as? RequestError ?? (error as? URLError)?.userInfo[NSUnderlyingErrorKey] as? RequestError
    }
}

extension AFError: LocalizedError, CustomStringConvertible {
    /// The error in one sentence, without secrets.
    public var description: String {
        switch self {
        case .explicitlyCancelled: "The request was cancelled."
        case .invalidURL(let url): "This is not a URL that can be requested: \(url)."
        case .sessionDeinitialized: "The session was gone before the request began."
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
