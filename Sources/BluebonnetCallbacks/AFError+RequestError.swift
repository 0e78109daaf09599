public import Bluebonnet
import BluebonnetFoundation
import Foundation

extension AFError {
    /// Creates an error from a `RequestError`.
    ///
    /// The case and its reason are the closest match for the `kind` of the `RequestError`. If the communication with
    /// the server failed, the case is `.sessionTaskFailed` with the `urlError` of the `RequestError`. If there is no
    /// `urlError`, the case contains the `RequestError` itself.
    ///
    /// If an `AFError` was thrown by a validator, a serializer, a trust evaluator, or code that creates a request or
    /// encodes its parameters, the result is this `AFError`.
    ///
    /// - Parameter error: The error to convert.
    public init(_ error: RequestError) {
        let cause = error.underlying ?? error
        if let thrown = error.underlying as? AFError, error.kind.isToldAsThrown {
            self = thrown
            return
        }
        self =
            switch error.kind {
            case .invalidURL where error.url.flatMap({ URL(string: $0) }) != nil, .invalidRequest(.unsupportedScheme):
                .sessionTaskFailed(error: URLError(.unsupportedURL, userInfo: [NSUnderlyingErrorKey: error]))
            case .invalidURL: .invalidURL(url: error.url ?? "")
            case .invalidRequest(.bodyDataInGETRequest): .urlRequestValidationFailed(reason: .bodyDataInGETRequest)
            case .invalidRequest: .createURLRequestFailed(error: cause)
            case .parameterEncoding where cause is JSONEncoding.Error || cause is EncodingError:
                .parameterEncodingFailed(reason: .jsonEncodingFailed(error: cause))
            case .parameterEncoding: .parameterEncoderFailed(reason: .encoderFailed(error: cause))
            case .multipartEncoding(let reason): .multipartEncodingFailed(reason: reason.asAF(cause))
            case .requestBody: .createUploadableFailed(error: cause)
            case .adaptation: .requestAdaptationFailed(error: cause)
            case .retry(let original):
                .requestRetryFailed(
                    retryError: cause, originalError: AFError(error.replaced ?? RequestError(original)))
            case .validation(let reason): .responseValidationFailed(reason: reason.asAF(cause))
            case .serialization(let reason): .responseSerializationFailed(reason: reason.asAF(cause))
            case .trust(.handshake), .trust(.clientCertificateRequired), .trust(.clientCertificateRefused):
                .sessionTaskFailed(error: error.urlError ?? error)
            case .trust(let reason): .serverTrustEvaluationFailed(reason: reason.asAF(error))
            case .download(.cannotMoveFile(let source, let destination)):
                .downloadedFileMoveFailed(
                    error: error, source: URL(filePath: source), destination: URL(filePath: destination))
            case .download(.cannotCreateFile(let path)):
                .downloadedFileMoveFailed(
                    error: CocoaError(.fileNoSuchFile, userInfo: [NSUnderlyingErrorKey: error]),
                    source: .temporaryDirectory, destination: URL(filePath: path))
            case .download(.destinationExists(let path)), .download(.destinationIsDirectory(let path)):
                .downloadedFileMoveFailed(
                    error: CocoaError(.fileWriteFileExists, userInfo: [NSUnderlyingErrorKey: error]),
                    source: .temporaryDirectory, destination: URL(filePath: path))
            case .download(.cannotReadFile(let path)):
                .responseSerializationFailed(reason: .inputFileReadFailed(at: URL(filePath: path)))
            case .cancelled: .explicitlyCancelled
            case .sessionShutDown: .sessionDeinitialized
            case .redirect, .cache, .cookies, .authentication, .connection, .timedOut, .circuitOpen, .invalidResponse,
                .download, .eventSource, .webSocket, .bodyAlreadyRead, .internal:
                .sessionTaskFailed(error: error.urlError ?? error)
            }
    }
}

extension RequestError.Kind {
    /// Whether an `AFError` that the user's code threw becomes the result; otherwise it becomes the cause of a new
    /// error.
    fileprivate var isToldAsThrown: Bool {
        switch self {
        case .invalidURL, .invalidRequest, .parameterEncoding, .serialization, .trust,
            .validation(.customValidationFailed):
            true
        default: false
        }
    }
}

extension RequestError.MultipartEncodingReason {
    fileprivate func asAF(_ cause: any Error) -> AFError.MultipartEncodingFailureReason {
        switch self {
        case .bodyPartURLInvalid(let url): .bodyPartURLInvalid(url: Self.url(url))
        case .bodyPartFilenameInvalid(let url): .bodyPartFilenameInvalid(in: Self.url(url))
        case .bodyPartFileNotReachable(let path): .bodyPartFileNotReachable(at: Self.url(path))
        case .bodyPartFileIsDirectory(let path): .bodyPartFileIsDirectory(at: Self.url(path))
        case .bodyPartFileUnreadable(let path): .bodyPartFileNotReachableWithError(atURL: Self.url(path), error: cause)
        case .outputFileAlreadyExists(let path): .outputStreamFileAlreadyExists(at: Self.url(path))
        case .outputFileURLInvalid(let url): .outputStreamURLInvalid(url: Self.url(url))
        case .outputFileWriteFailed: .outputStreamWriteFailed(error: cause)
        case .bodyPartLengthMismatch, .bodyPartSequenceFailed, .bodyPartNotReplayable, .boundaryInvalid,
            .bodyPartHeaderInvalid:
            .inputStreamReadFailed(error: cause)
        }
    }

    /// Returns the URL for the text in a `RequestError`: a file path, or a URL with a scheme other than `file`.
    private static func url(_ text: String) -> URL {
        text.contains("://") ? URL(string: text) ?? URL(filePath: text) : URL(filePath: text)
    }
}

extension RequestError.ValidationReason {
    fileprivate func asAF(_ cause: any Error) -> AFError.ResponseValidationFailureReason {
        switch self {
        case .unacceptableStatusCode(let code): .unacceptableStatusCode(code: code)
        case .missingContentType(let types): .missingContentType(acceptableContentTypes: types)
        case .unacceptableContentType(let type, let types):
            .unacceptableContentType(acceptableContentTypes: types, responseContentType: type)
        case .customValidationFailed: .customValidationFailed(error: cause)
        }
    }
}

extension RequestError.SerializationReason {
    fileprivate func asAF(_ cause: any Error) -> AFError.ResponseSerializationFailureReason {
        switch self {
        case .inputDataNilOrZeroLength: .inputDataNilOrZeroLength
        case .invalidEmptyResponse(let type): .invalidEmptyResponse(type: type)
        case .stringSerializationFailed(let name): .stringSerializationFailed(encoding: String.Encoding(named: name))
        case .jsonSerializationFailed: .jsonSerializationFailed(error: cause)
        case .decodingFailed: .decodingFailed(error: cause)
        case .customSerializationFailed: .customSerializationFailed(error: cause)
        }
    }
}

extension RequestError.TrustReason {
    fileprivate func asAF(_ error: RequestError) -> AFError.ServerTrustFailureReason {
        switch self {
        case .noRequiredEvaluator(let host): .noRequiredEvaluator(host: host)
        case .noCertificatesFound: .noCertificatesFound
        case .noPublicKeysFound: .noPublicKeysFound
        case .certificateExpired, .untrustedIssuer, .selfSigned:
            .defaultEvaluationFailed(error: error.urlError ?? error)
        case .hostMismatch: .hostValidationFailed(error: error.urlError ?? error)
        case .revocationCheckFailed: .revocationCheckFailed(error: error)
        case .certificatePinningFailed: .certificatePinningFailed(error: error)
        case .publicKeyPinningFailed: .publicKeyPinningFailed(error: error)
        case .customEvaluationFailed: .customEvaluationFailed(error: error.underlying ?? error)
        case .chainTooLong, .certificateRefused, .handshake, .configuration, .notEvaluated, .clientCertificateRequired,
            .clientCertificateRefused:
            .trustEvaluationFailed(error: error)
        }
    }
}

extension String.Encoding {
    /// Creates the encoding with a name of the IANA registry; the Foundation of Swift 6.2 has no names.
    fileprivate init?(named name: String) {
        #if compiler(>=6.3)
            self.init(ianaName: name)
        #else
            let names: [String: Self] = [
                "us-ascii": .ascii, "utf-8": .utf8, "utf-16": .utf16, "utf-16be": .utf16BigEndian,
                "utf-16le": .utf16LittleEndian, "utf-32": .utf32, "iso-8859-1": .isoLatin1, "iso-8859-2": .isoLatin2,
                "windows-1250": .windowsCP1250, "windows-1251": .windowsCP1251, "windows-1252": .windowsCP1252,
                "shift_jis": .shiftJIS, "euc-jp": .japaneseEUC, "iso-2022-jp": .iso2022JP,
            ]
            guard let encoding = names[name.lowercased()] else { return nil }
            self = encoding
        #endif
    }
}
