import Bluebonnet
import Foundation

extension URLError.Code {
    /// The code that says the same as a kind of error, if there is one.
    init?(_ kind: RequestError.Kind) {
        switch kind {
        case .invalidURL: self = .badURL
        case .invalidRequest(.unsupportedScheme): self = .unsupportedURL
        case .retry(let original): self.init(original)
        case .multipartEncoding(let reason): self.init(reason)
        case .requestBody(let reason): self.init(reason)
        case .redirect(let reason): self.init(reason)
        case .cache: self = .resourceUnavailable
        case .authentication: self = .userAuthenticationRequired
        case .connection(let reason): self.init(reason)
        case .timedOut: self = .timedOut
        case .trust(let reason): self.init(reason)
        case .invalidResponse(let reason): self.init(reason)
        case .serialization(let reason): self.init(reason)
        case .download(let reason): self.init(reason)
        case .eventSource: self = .badServerResponse
        case .cancelled, .sessionShutDown: self = .cancelled
        case .internal: self = .unknown
        default: return nil
        }
    }

    private init?(_ reason: RequestError.MultipartEncodingReason) {
        switch reason {
        case .bodyPartFileNotReachable: self = .fileDoesNotExist
        case .bodyPartFileIsDirectory: self = .fileIsDirectory
        case .bodyPartFileUnreadable: self = .cannotOpenFile
        case .bodyPartLengthMismatch, .bodyPartNotReplayable: self = .requestBodyStreamExhausted
        case .outputFileAlreadyExists: self = .cannotCreateFile
        case .outputFileWriteFailed: self = .cannotWriteToFile
        default: return nil
        }
    }

    private init?(_ reason: RequestError.RequestBodyReason) {
        switch reason {
        case .notAFileURL: self = .unsupportedURL
        case .fileUnreadable: self = .cannotOpenFile
        case .fileIsDirectory: self = .fileIsDirectory
        case .lengthMismatch, .notReplayable: self = .requestBodyStreamExhausted
        default: return nil
        }
    }

    private init?(_ reason: RequestError.RedirectReason) {
        switch reason {
        case .tooMany, .loop: self = .httpTooManyRedirects
        case .insecure: self = .appTransportSecurityRequiresSecureConnection
        case .invalidLocation: self = .redirectToNonExistentLocation
        case .bodyNotReplayable: self = .requestBodyStreamExhausted
        default: return nil
        }
    }

    private init(_ reason: RequestError.ConnectionReason) {
        switch reason {
        case .nameNotResolved, .proxyNameNotResolved: self = .cannotFindHost
        case .lost, .http2: self = .networkConnectionLost
        default: self = .cannotConnectToHost
        }
    }

    private init(_ reason: RequestError.TrustReason) {
        switch reason {
        case .certificateExpired: self = .serverCertificateHasBadDate
        case .untrustedIssuer, .selfSigned: self = .serverCertificateHasUnknownRoot
        case .handshake, .configuration, .notEvaluated: self = .secureConnectionFailed
        case .clientCertificateRequired: self = .clientCertificateRequired
        case .clientCertificateRefused: self = .clientCertificateRejected
        default: self = .serverCertificateUntrusted
        }
    }

    private init(_ reason: RequestError.InvalidResponseReason) {
        switch reason {
        case .headTooLarge, .bodyTooLarge: self = .dataLengthExceedsMaximum
        case .truncated, .http2Stream: self = .networkConnectionLost
        case .undecodableContent: self = .cannotDecodeContentData
        default: self = .badServerResponse
        }
    }

    private init?(_ reason: RequestError.SerializationReason) {
        switch reason {
        case .inputDataNilOrZeroLength, .invalidEmptyResponse: self = .zeroByteResource
        case .stringSerializationFailed, .jsonSerializationFailed, .decodingFailed: self = .cannotParseResponse
        default: return nil
        }
    }

    private init?(_ reason: RequestError.DownloadReason) {
        switch reason {
        case .destinationInvalid, .destinationExists, .cannotCreateFile: self = .cannotCreateFile
        case .destinationIsDirectory: self = .fileIsDirectory
        case .cannotWriteFile: self = .cannotWriteToFile
        case .cannotMoveFile: self = .cannotMoveFile
        case .cannotReadFile: self = .cannotOpenFile
        case .cannotResume: self = .badServerResponse
        default: return nil
        }
    }
}

extension RequestError.Kind {
    /// The kind of error that says the same as a code, or comes nearest to it.
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
