public import Bluebonnet
public import Foundation

extension RequestError {
    /// The `URLError` that matches this error best; `nil` if no `URLError` matches.
    ///
    /// If the underlying error is a `URLError`, this property returns it unchanged. Otherwise, it creates a `URLError`
    /// with the matching code. The `userInfo` of the new error contains this error under `NSUnderlyingErrorKey`. It
    /// also contains the URL, without user info and query values, under `NSURLErrorFailingURLErrorKey`.
    ///
    /// Some kinds of errors match no `URLError`, for example `.parameterEncoding`, `.adaptation` and `.validation`.
    public var urlError: URLError? {
        if let error = underlying as? URLError { return error }
        guard let code = URLError.Code(kind) else { return nil }
        var userInfo: [String: Any] = [NSUnderlyingErrorKey: self, NSLocalizedDescriptionKey: description]
        if let url = url.flatMap({ URL(string: $0) }) { userInfo[NSURLErrorFailingURLErrorKey] = url }
        return URLError(code, userInfo: userInfo)
    }

    /// Creates an error with a `URLError` as its underlying error.
    ///
    /// The kind of the new error is the kind that matches the code of the `URLError` best. If no kind matches, the kind
    /// is `.connection(.failed)`.
    ///
    /// - Parameter urlError: The error to convert.
    public init(_ urlError: URLError) {
        self.init(Kind(urlError.code), underlying: urlError)
    }
}

extension URLError.Code {
    /// Creates the code that matches a kind of error best; `nil` if no code matches.
    init?(_ kind: RequestError.Kind) {
        switch kind {
        case .retry(let original): self.init(original)
        case .invalidURL: self = .badURL
        case .invalidRequest(.unsupportedScheme), .requestBody(.notAFileURL): self = .unsupportedURL
        case .cancelled, .sessionShutDown: self = .cancelled
        case .timedOut: self = .timedOut
        case .internal: self = .unknown
        case .cache: self = .resourceUnavailable
        case .authentication: self = .userAuthenticationRequired
        // The connection and its trust
        case .connection(.nameNotResolved), .connection(.proxyNameNotResolved): self = .cannotFindHost
        case .connection(.lost), .connection(.http2), .connection(.http3), .invalidResponse(.truncated),
            .invalidResponse(.http2Stream), .invalidResponse(.http3Stream):
            self = .networkConnectionLost
        case .connection: self = .cannotConnectToHost
        case .trust(.certificateExpired): self = .serverCertificateHasBadDate
        case .trust(.untrustedIssuer), .trust(.selfSigned): self = .serverCertificateHasUnknownRoot
        case .trust(.handshake), .trust(.configuration), .trust(.notEvaluated): self = .secureConnectionFailed
        case .trust(.clientCertificateRequired): self = .clientCertificateRequired
        case .trust(.clientCertificateRefused): self = .clientCertificateRejected
        case .trust: self = .serverCertificateUntrusted
        // Requests and responses
        case .redirect(.tooMany), .redirect(.loop): self = .httpTooManyRedirects
        case .redirect(.insecure): self = .appTransportSecurityRequiresSecureConnection
        case .redirect(.invalidLocation): self = .redirectToNonExistentLocation
        case .redirect(.bodyNotReplayable), .requestBody(.lengthMismatch), .requestBody(.notReplayable),
            .multipartEncoding(.bodyPartLengthMismatch), .multipartEncoding(.bodyPartNotReplayable):
            self = .requestBodyStreamExhausted
        case .invalidResponse(.headTooLarge), .invalidResponse(.bodyTooLarge): self = .dataLengthExceedsMaximum
        case .invalidResponse(.undecodableContent): self = .cannotDecodeContentData
        case .invalidResponse, .eventSource, .webSocket, .download(.cannotResume): self = .badServerResponse
        case .serialization(.inputDataNilOrZeroLength), .serialization(.invalidEmptyResponse): self = .zeroByteResource
        case .serialization(.stringSerializationFailed), .serialization(.jsonSerializationFailed),
            .serialization(.decodingFailed):
            self = .cannotParseResponse
        // Files
        case .multipartEncoding(.bodyPartFileNotReachable): self = .fileDoesNotExist
        case .multipartEncoding(.bodyPartFileIsDirectory), .requestBody(.fileIsDirectory),
            .download(.destinationIsDirectory):
            self = .fileIsDirectory
        case .multipartEncoding(.bodyPartFileUnreadable), .requestBody(.fileUnreadable), .download(.cannotReadFile):
            self = .cannotOpenFile
        case .multipartEncoding(.outputFileAlreadyExists), .download(.destinationInvalid),
            .download(.destinationExists), .download(.cannotCreateFile):
            self = .cannotCreateFile
        case .multipartEncoding(.outputFileWriteFailed), .download(.cannotWriteFile): self = .cannotWriteToFile
        case .download(.cannotMoveFile): self = .cannotMoveFile
        default: return nil
        }
    }
}

extension RequestError.Kind {
    /// Creates the kind of error that matches a code best.
    init(_ code: URLError.Code) {
        switch code {
        case .badURL: self = .invalidURL
        case .unsupportedURL: self = .invalidRequest(.unsupportedScheme(""))
        case .cancelled, .userCancelledAuthentication: self = .cancelled
        case .timedOut: self = .timedOut(.idle)
        case .cannotFindHost, .dnsLookupFailed: self = .connection(.nameNotResolved)
        case .cannotConnectToHost: self = .connection(.refused)
        case .networkConnectionLost: self = .connection(.lost)
        case .httpTooManyRedirects: self = .redirect(.tooMany(limit: 0))
        case .redirectToNonExistentLocation: self = .redirect(.invalidLocation(""))
        case .appTransportSecurityRequiresSecureConnection: self = .redirect(.insecure(url: ""))
        case .serverCertificateHasBadDate, .serverCertificateNotYetValid: self = .trust(.certificateExpired)
        case .serverCertificateHasUnknownRoot: self = .trust(.untrustedIssuer)
        case .serverCertificateUntrusted: self = .trust(.certificateRefused)
        case .secureConnectionFailed: self = .trust(.handshake)
        case .clientCertificateRequired: self = .trust(.clientCertificateRequired)
        case .clientCertificateRejected: self = .trust(.clientCertificateRefused)
        case .badServerResponse: self = .invalidResponse(.malformed)
        case .dataLengthExceedsMaximum: self = .invalidResponse(.bodyTooLarge(limit: 0))
        case .cannotDecodeRawData, .cannotDecodeContentData: self = .invalidResponse(.undecodableContent)
        case .cannotParseResponse: self = .serialization(.customSerializationFailed)
        case .zeroByteResource: self = .serialization(.inputDataNilOrZeroLength)
        case .requestBodyStreamExhausted: self = .requestBody(.notReplayable)
        case .fileIsDirectory: self = .requestBody(.fileIsDirectory(path: ""))
        case .fileDoesNotExist, .noPermissionsToReadFile, .cannotOpenFile:
            self = .requestBody(.fileUnreadable(path: ""))
        case .cannotCreateFile: self = .download(.cannotCreateFile(path: ""))
        case .cannotWriteToFile, .cannotCloseFile: self = .download(.cannotWriteFile(path: ""))
        case .cannotMoveFile, .cannotRemoveFile: self = .download(.cannotMoveFile(from: "", to: ""))
        case .downloadDecodingFailedMidStream, .downloadDecodingFailedToComplete:
            self = .invalidResponse(.undecodableContent)
        case .resourceUnavailable: self = .invalidRequest(.conversion)
        case .unknown: self = .internal
        default: self = .connection(.failed)
        }
    }
}
