public import Bluebonnet
import BluebonnetFoundation
import Foundation

extension AFError {
    /// Creates an error of a `RequestError`.
    ///
    /// Each kind has one case. What ended the exchange is a `URLError` where there is one for it, whose user info has the
    /// `RequestError` under `NSUnderlyingErrorKey`.
    ///
    /// - Parameter error: What went wrong.
    public init(_ error: RequestError) {
        let cause = error.underlying ?? error
        self =
            switch error.kind {
            case .invalidURL: .invalidURL(url: error.url ?? "")
            case .invalidRequest(.bodyDataInGETRequest): .urlRequestValidationFailed(reason: .bodyDataInGETRequest)
            case .invalidRequest: .createURLRequestFailed(error: cause)
            case .parameterEncoding: .parameterEncoderFailed(reason: .encoderFailed(error: cause))
            case .multipartEncoding(let reason):
                .multipartEncodingFailed(reason: MultipartEncodingFailureReason(reason, of: error))
            case .requestBody: .createUploadableFailed(error: cause)
            case .adaptation: .requestAdaptationFailed(error: cause)
            case .retry(let original):
                .requestRetryFailed(retryError: cause, originalError: AFError(RequestError(original)))
            case .validation(let reason):
                .responseValidationFailed(reason: ResponseValidationFailureReason(reason, of: error))
            case .serialization(let reason):
                .responseSerializationFailed(reason: ResponseSerializationFailureReason(reason, of: error))
            case .trust(let reason): .serverTrustEvaluationFailed(reason: ServerTrustFailureReason(reason, of: error))
            case .download(.cannotMoveFile(let source, let destination)):
                .downloadedFileMoveFailed(
                    error: error, source: URL(filePath: source), destination: URL(filePath: destination))
            case .download(.destinationExists(let path)), .download(.destinationIsDirectory(let path)):
                .downloadedFileMoveFailed(
                    error: error, source: FileManager.default.temporaryDirectory, destination: URL(filePath: path))
            case .download(.cannotReadFile(let path)):
                .responseSerializationFailed(reason: .inputFileReadFailed(at: URL(filePath: path)))
            case .cancelled: .explicitlyCancelled
            case .sessionShutDown: .sessionDeinitialized
            case .redirect, .cookies, .authentication, .connection, .timedOut, .invalidResponse, .download,
                .eventSource, .internal:
                .sessionTaskFailed(error: error.urlError ?? error)
            }
    }
}

extension AFError.MultipartEncodingFailureReason {
    init(_ reason: RequestError.MultipartEncodingReason, of error: RequestError) {
        self =
            switch reason {
            case .bodyPartURLInvalid(let url): .bodyPartURLInvalid(url: Self.url(url))
            case .bodyPartFilenameInvalid(let url): .bodyPartFilenameInvalid(in: Self.url(url))
            case .bodyPartFileNotReachable(let path): .bodyPartFileNotReachable(at: Self.url(path))
            case .bodyPartFileIsDirectory(let path): .bodyPartFileIsDirectory(at: Self.url(path))
            case .bodyPartFileUnreadable(let path):
                .bodyPartFileNotReachableWithError(atURL: Self.url(path), error: error.underlying ?? error)
            case .outputFileAlreadyExists(let path): .outputStreamFileAlreadyExists(at: Self.url(path))
            case .outputFileURLInvalid(let url): .outputStreamURLInvalid(url: Self.url(url))
            case .outputFileWriteFailed: .outputStreamWriteFailed(error: error.underlying ?? error)
            case .bodyPartLengthMismatch, .bodyPartSequenceFailed, .bodyPartNotReplayable, .boundaryInvalid,
                .bodyPartHeaderInvalid:
                .inputStreamReadFailed(error: error.underlying ?? error)
            }
    }

    /// What stands in an error is the path of a file, or the text of a URL that is none of a file.
    private static func url(_ text: String) -> URL {
        text.contains("://") ? URL(string: text) ?? URL(filePath: text) : URL(filePath: text)
    }
}

extension AFError.ResponseValidationFailureReason {
    init(_ reason: RequestError.ValidationReason, of error: RequestError) {
        self =
            switch reason {
            case .unacceptableStatusCode(let code): .unacceptableStatusCode(code: code)
            case .missingContentType(let types): .missingContentType(acceptableContentTypes: types)
            case .unacceptableContentType(let type, let types):
                .unacceptableContentType(acceptableContentTypes: types, responseContentType: type)
            case .customValidationFailed: .customValidationFailed(error: error.underlying ?? error)
            }
    }
}

extension AFError.ResponseSerializationFailureReason {
    init(_ reason: RequestError.SerializationReason, of error: RequestError) {
        let cause = error.underlying ?? error
        self =
            switch reason {
            case .inputDataNilOrZeroLength: .inputDataNilOrZeroLength
            case .invalidEmptyResponse(let type): .invalidEmptyResponse(type: type)
            case .stringSerializationFailed(let name): .stringSerializationFailed(encoding: Self.encoding(named: name))
            case .jsonSerializationFailed: .jsonSerializationFailed(error: cause)
            case .decodingFailed: .decodingFailed(error: cause)
            case .customSerializationFailed: .customSerializationFailed(error: cause)
            }
    }

    private static func encoding(named name: String) -> String.Encoding? {
        let known: [String.Encoding] = [
            .utf8, .isoLatin1, .ascii, .utf16, .utf16BigEndian, .utf16LittleEndian, .utf32, .utf32BigEndian,
            .utf32LittleEndian, .windowsCP1252, .isoLatin2, .japaneseEUC, .shiftJIS,
        ]
        return known.first { "\($0)".lowercased().contains(name.lowercased()) }
    }
}

extension AFError.ServerTrustFailureReason {
    init(_ reason: RequestError.TrustReason, of error: RequestError) {
        let cause = error.underlying ?? error
        self =
            switch reason {
            case .noRequiredEvaluator(let host): .noRequiredEvaluator(host: host)
            case .noCertificatesFound: .noCertificatesFound
            case .noPublicKeysFound: .noPublicKeysFound
            case .certificateExpired, .untrustedIssuer, .selfSigned: .defaultEvaluationFailed(error: error)
            case .hostMismatch: .hostValidationFailed(error: error)
            case .revocationCheckFailed: .revocationCheckFailed(error: error)
            case .certificatePinningFailed: .certificatePinningFailed(error: error)
            case .publicKeyPinningFailed: .publicKeyPinningFailed(error: error)
            case .customEvaluationFailed: .customEvaluationFailed(error: cause)
            case .certificateRefused, .handshake, .configuration, .notEvaluated, .clientCertificateRequired,
                .clientCertificateRefused:
                .trustEvaluationFailed(error: error)
            }
    }
}
