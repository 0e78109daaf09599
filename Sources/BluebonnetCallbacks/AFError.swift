// This module re-exports the modules of the URLs, requests and queues that code with completion handlers uses.
@_exported public import Bluebonnet
@_exported public import BluebonnetFoundation
@_exported public import Dispatch
public import Foundation
import FoundationNetworking

/// The default session, under the name that Alamofire code uses.
public let AF = Session.default

/// The response of a `DataRequest`, with ``AFError`` as the error type.
public typealias AFDataResponse<Success: Sendable> = DataResponse<Success, AFError>

/// The response of a `DownloadRequest`, with ``AFError`` as the error type.
public typealias AFDownloadResponse<Success: Sendable> = DownloadResponse<Success, AFError>

/// A value or an ``AFError``.
public typealias AFResult<Success> = Result<Success, AFError>

/// The error of a failed request, with the cases of Alamofire's `AFError`.
///
/// Bluebonnet creates an `AFError` from a `RequestError`. ``underlyingError`` is the cause of the error: an error that
/// your own code or a decoder threw, a Foundation error such as a `URLError`, or the `RequestError`.
///
/// ``requestError`` is the `RequestError`, with more details: the URL, the number of attempts, and the beginning of the
/// response body. ``requestError`` is `nil` for an error without a cause. It is also `nil` if the cause is an error
/// that your own code or a decoder threw.
public enum AFError: Error {
    /// The body to upload could not be read, or could not be sent as specified.
    case createUploadableFailed(error: any Error)
    /// The request could not be created, or the request or the session's configuration is invalid.
    case createURLRequestFailed(error: any Error)
    /// The downloaded file could not be moved to its destination.
    case downloadedFileMoveFailed(error: any Error, source: URL, destination: URL)
    /// The request was cancelled.
    case explicitlyCancelled
    /// The text is not a URL, or the URL cannot be requested.
    case invalidURL(url: String)
    /// A multipart form could not be encoded.
    case multipartEncodingFailed(reason: MultipartEncodingFailureReason)
    /// `JSONEncoding` could not write the parameters as JSON.
    case parameterEncodingFailed(reason: ParameterEncodingFailureReason)
    /// A `ParameterEncoder`, or a `ParameterEncoding` other than `JSONEncoding`, failed.
    case parameterEncoderFailed(reason: ParameterEncoderFailureReason)
    /// An adapter failed.
    case requestAdaptationFailed(error: any Error)
    /// A retrier replaced the error of the request with another error.
    case requestRetryFailed(retryError: any Error, originalError: any Error)
    /// A validator refused the response.
    case responseValidationFailed(reason: ResponseValidationFailureReason)
    /// The response could not be converted to a value.
    case responseSerializationFailed(reason: ResponseSerializationFailureReason)
    /// The server was not trusted, or the TLS configuration cannot be used.
    case serverTrustEvaluationFailed(reason: ServerTrustFailureReason)
    /// The session was released or shut down before the request began.
    case sessionDeinitialized
    /// The session became invalid; Bluebonnet never creates this case.
    case sessionInvalidated(error: (any Error)?)
    /// The communication with the server failed, for example because of a lost connection, a timeout, a failed TLS
    /// handshake or an invalid response.
    ///
    /// This case is also used for failures without a case of their own. Examples are a redirect that cannot be
    /// followed, a cookie that cannot be stored, and a downloaded file that cannot be written.
    case sessionTaskFailed(error: any Error)
    /// A GET, HEAD or TRACE request has a body, which is not allowed.
    case urlRequestValidationFailed(reason: URLRequestValidationFailureReason)

    /// The reasons why a multipart form could not be encoded.
    public enum MultipartEncodingFailureReason: Sendable {
        /// The URL of a part is not a file URL.
        case bodyPartURLInvalid(url: URL)
        /// The URL of a part's file has no last path component to use as the file name.
        case bodyPartFilenameInvalid(in: URL)
        /// The file of a part does not exist, or access to it is denied.
        case bodyPartFileNotReachable(at: URL)
        /// The file of a part cannot be read, or is not a regular file.
        case bodyPartFileNotReachableWithError(atURL: URL, error: any Error)
        /// The size of a part's file is not known; Bluebonnet never creates this case.
        case bodyPartFileSizeNotAvailable(at: URL)
        /// The size of a part's file could not be read; Bluebonnet never creates this case.
        case bodyPartFileSizeQueryFailedWithError(forURL: URL, error: any Error)
        /// The stream of a part's file could not be created; Bluebonnet never creates this case.
        case bodyPartInputStreamCreationFailed(for: URL)
        /// The file of the form could not be created; Bluebonnet never creates this case.
        case outputStreamCreationFailed(for: URL)
        /// The file of a part is a directory.
        case bodyPartFileIsDirectory(at: URL)
        /// A file already exists at the output URL of the form.
        case outputStreamFileAlreadyExists(at: URL)
        /// The output URL of the form is not a file URL.
        case outputStreamURLInvalid(url: URL)
        /// The form could not be written.
        case outputStreamWriteFailed(error: any Error)
        /// A part could not be read or sent, its length differs from the stated length, or the boundary or a header
        /// field is invalid.
        case inputStreamReadFailed(error: any Error)
    }

    /// The reasons why parameters could not be written as JSON.
    public enum ParameterEncodingFailureReason: Sendable {
        /// The request has no URL; Bluebonnet never creates this case.
        case missingURL
        /// The parameters cannot be written as JSON.
        case jsonEncodingFailed(error: any Error)
        /// A custom encoding threw an error; Bluebonnet never creates this case.
        case customEncodingFailed(error: any Error)
    }

    /// The reasons why parameters could not be encoded.
    public enum ParameterEncoderFailureReason: Sendable {
        /// The encoder or the encoding threw an error.
        case encoderFailed(error: any Error)
    }

    /// The reasons why a response was refused.
    public enum ResponseValidationFailureReason: Sendable {
        /// The download has no file for validation; Bluebonnet never creates this case.
        case dataFileNil
        /// The downloaded file could not be read for validation; Bluebonnet never creates this case.
        case dataFileReadFailed(at: URL)
        /// The response has a body, but no `Content-Type`.
        case missingContentType(acceptableContentTypes: [String])
        /// The content type is not acceptable.
        case unacceptableContentType(acceptableContentTypes: [String], responseContentType: String)
        /// The status code is not acceptable.
        case unacceptableStatusCode(code: Int)
        /// A custom validator refused the response.
        case customValidationFailed(error: any Error)
    }

    /// The reasons why a response could not be converted to a value.
    public enum ResponseSerializationFailureReason: Sendable {
        /// The body is empty, and neither the method nor the status code allows an empty body.
        case inputDataNilOrZeroLength
        /// The downloaded file cannot be read.
        case inputFileReadFailed(at: URL)
        /// The download has no file.
        case inputFileNil
        /// The body is not valid text in its encoding.
        ///
        /// The `encoding` is `nil` if Foundation does not know the name of the encoding.
        case stringSerializationFailed(encoding: String.Encoding?)
        /// The body is not JSON.
        case jsonSerializationFailed(error: any Error)
        /// The decoder threw an error.
        case decodingFailed(error: any Error)
        /// A custom serializer threw an error.
        case customSerializationFailed(error: any Error)
        /// The body is empty, and the requested type has no value for an empty body.
        ///
        /// The method or the status code allows an empty body.
        case invalidEmptyResponse(type: String)
    }

    /// The reasons why a server was not trusted.
    public enum ServerTrustFailureReason: Sendable {
        /// The trust manager requires an evaluator for every host, but has no evaluator for this host.
        case noRequiredEvaluator(host: String)
        /// The evaluator has no pinned certificates.
        case noCertificatesFound
        /// The evaluator has no pinned public keys.
        case noPublicKeysFound
        /// The server was not trusted for another reason, or the TLS configuration cannot be used; `error` has the
        /// details.
        case trustEvaluationFailed(error: any Error)
        /// The certificate has expired or is not valid yet, or no trusted authority has signed it.
        case defaultEvaluationFailed(error: any Error)
        /// The certificate does not match the host.
        case hostValidationFailed(error: any Error)
        /// A certificate was revoked, or its revocation status is unknown.
        case revocationCheckFailed(error: any Error)
        /// The chain contains no pinned certificate.
        case certificatePinningFailed(error: any Error)
        /// The chain contains no pinned public key.
        case publicKeyPinningFailed(error: any Error)
        /// A custom evaluator refused the server.
        case customEvaluationFailed(error: any Error)
    }

    /// The reasons why a request is not valid.
    public enum URLRequestValidationFailureReason: Sendable {
        /// A GET, HEAD or TRACE request has a body.
        case bodyDataInGETRequest
    }
}

extension AFError {
    /// Whether the body to upload could not be read or sent.
    public var isCreateUploadableError: Bool { if case .createUploadableFailed = self { true } else { false } }
    /// Whether the request or the configuration of its session is invalid.
    public var isCreateURLRequestError: Bool { if case .createURLRequestFailed = self { true } else { false } }
    /// Whether the downloaded file could not be moved to its destination.
    public var isDownloadedFileMoveError: Bool { if case .downloadedFileMoveFailed = self { true } else { false } }
    /// Whether the request was cancelled.
    public var isExplicitlyCancelledError: Bool { if case .explicitlyCancelled = self { true } else { false } }
    /// Whether the request failed because its URL is malformed or cannot be requested.
    public var isInvalidURLError: Bool { if case .invalidURL = self { true } else { false } }
    /// Whether a multipart form could not be encoded.
    public var isMultipartEncodingError: Bool { if case .multipartEncodingFailed = self { true } else { false } }
    /// Whether `JSONEncoding` could not write the parameters as JSON.
    public var isParameterEncodingError: Bool { if case .parameterEncodingFailed = self { true } else { false } }
    /// Whether a `ParameterEncoder`, or a `ParameterEncoding` other than `JSONEncoding`, failed.
    public var isParameterEncoderError: Bool { if case .parameterEncoderFailed = self { true } else { false } }
    /// Whether an adapter failed.
    public var isRequestAdaptationError: Bool { if case .requestAdaptationFailed = self { true } else { false } }
    /// Whether a retrier replaced the error of the request with another error.
    public var isRequestRetryError: Bool { if case .requestRetryFailed = self { true } else { false } }
    /// Whether a validator refused the response.
    public var isResponseValidationError: Bool { if case .responseValidationFailed = self { true } else { false } }
    /// Whether the response could not be converted to a value.
    public var isResponseSerializationError: Bool {
        if case .responseSerializationFailed = self { true } else { false }
    }
    /// Whether the server was not trusted, or the TLS configuration cannot be used.
    public var isServerTrustEvaluationError: Bool {
        if case .serverTrustEvaluationFailed = self { true } else { false }
    }
    /// Whether the session was released or shut down before the request began.
    public var isSessionDeinitializedError: Bool { if case .sessionDeinitialized = self { true } else { false } }
    /// Whether the session became invalid; always `false` for errors that Bluebonnet creates.
    public var isSessionInvalidatedError: Bool { if case .sessionInvalidated = self { true } else { false } }
    /// Whether the case of the error is ``sessionTaskFailed(error:)``, for example because a connection was lost.
    public var isSessionTaskError: Bool { if case .sessionTaskFailed = self { true } else { false } }
    /// Whether the request has a body, although its method is GET, HEAD or TRACE.
    public var isURLRequestValidationError: Bool { if case .urlRequestValidationFailed = self { true } else { false } }

    /// The text that is not a URL; `nil` for other errors.
    public var urlConvertible: (any URLConvertible)? { if case .invalidURL(let text) = self { text } else { nil } }

    /// The cause of this error, such as an error that your own code threw, a `RequestError` or a `URLError`.
    ///
    /// The value is `nil` if the error has no cause, for example if the status code is not acceptable.
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
            .multipartEncodingFailed(.bodyPartFileSizeQueryFailedWithError(_, let error)),
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

    /// The invalid URL, or the URL that caused the encoding of a multipart form to fail; `nil` for other errors.
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

    /// The status code that was not acceptable; `nil` for other errors.
    public var responseCode: Int? {
        if case .responseValidationFailed(.unacceptableStatusCode(let code)) = self { code } else { nil }
    }
    /// The acceptable content types, if the response has another content type or no content type; `nil` for other
    /// errors.
    public var acceptableContentTypes: [String]? {
        switch self {
        case .responseValidationFailed(.missingContentType(let types)): types
        case .responseValidationFailed(.unacceptableContentType(let types, _)): types
        default: nil
        }
    }
    /// The content type that was not acceptable; `nil` for other errors.
    public var responseContentType: String? {
        if case .responseValidationFailed(.unacceptableContentType(_, let type)) = self { type } else { nil }
    }
    /// The encoding in which the body is not valid text; `nil` for other errors, and for an encoding that Foundation
    /// does not know.
    public var failedStringEncoding: String.Encoding? {
        if case .responseSerializationFailed(.stringSerializationFailed(let encoding)) = self { encoding } else { nil }
    }
    /// The URL of the downloaded file that could not be moved.
    ///
    /// If the file could not be created at the destination, for example because another file already exists there, this
    /// property is the URL of the temporary directory.
    public var sourceURL: URL? { if case .downloadedFileMoveFailed(_, let url, _) = self { url } else { nil } }
    /// The URL of the destination to which the file could not be moved.
    public var destinationURL: URL? { if case .downloadedFileMoveFailed(_, _, let url) = self { url } else { nil } }
    /// The data for resuming the failed download; `nil` if the download cannot be resumed.
    public var downloadResumeData: Data? { requestError?.resumeData }
    /// The `RequestError` from which this error was created.
    ///
    /// This property has a value only if ``underlyingError`` is a `RequestError`, or a `URLError` or `CocoaError` that
    /// was created from a `RequestError`. Otherwise, it is `nil`.
    public var requestError: RequestError? {
        let error = underlyingError
        return error as? RequestError
            ?? (error as? any CustomNSError)?.errorUserInfo[NSUnderlyingErrorKey] as? RequestError
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
            "The file could not be moved to \(destination.path): \(requestError.map { "\($0)" } ?? "\(error)")."
        case .requestAdaptationFailed(let error): "The request could not be adapted: \(error)."
        case .requestRetryFailed(let error, let original): "A retry failed with \(error), after: \(original)"
        case .sessionInvalidated(let error): "The session is invalid: \(error.map { "\($0)" } ?? "no reason given")."
        case .sessionTaskFailed(let error): "The exchange failed: \(requestError.map { "\($0)" } ?? "\(error)")."
        }
    }

    /// The error in one sentence, without secrets.
    public var errorDescription: String? { description }
}

extension Error {
    /// The error as an ``AFError``, if it is an ``AFError`` or a `RequestError`; otherwise `nil`.
    public var asAFError: AFError? { self as? AFError ?? (self as? RequestError).map(AFError.init) }
}
