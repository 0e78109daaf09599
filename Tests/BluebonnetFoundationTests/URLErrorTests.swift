import BluebonnetFoundation
import Foundation
import Testing

/// Errors of `URLSession` in our terms, and back.
struct URLErrorTests {
    static let codes: [(RequestError.Kind, URLError.Code?)] = [
        (.invalidURL, .badURL), (.invalidRequest(.unsupportedScheme("ftp")), .unsupportedURL),
        (.invalidRequest(.method("a b")), nil), (.invalidRequest(.fieldName("a b")), nil),
        (.invalidRequest(.fieldValue(name: "a")), nil), (.invalidRequest(.bodyDataInGETRequest), nil),
        (.invalidRequest(.configuration("x")), nil), (.invalidRequest(.conversion), nil),
        (.parameterEncoding(.encoderFailed), nil), (.multipartEncoding(.bodyPartURLInvalid("")), nil),
        (.multipartEncoding(.bodyPartFileNotReachable("")), .fileDoesNotExist),
        (.multipartEncoding(.bodyPartFileIsDirectory("")), .fileIsDirectory),
        (.multipartEncoding(.bodyPartFileUnreadable("")), .cannotOpenFile),
        (.multipartEncoding(.bodyPartNotReplayable(name: "")), .requestBodyStreamExhausted),
        (.multipartEncoding(.outputFileWriteFailed("")), .cannotWriteToFile),
        (.requestBody(.notAFileURL("")), .unsupportedURL), (.requestBody(.fileUnreadable(path: "")), .cannotOpenFile),
        (.requestBody(.fileIsDirectory(path: "")), .fileIsDirectory),
        (.requestBody(.lengthMismatch(expected: 1, actual: 2)), .requestBodyStreamExhausted),
        (.requestBody(.sequenceFailed), nil), (.requestBody(.notReplayable), .requestBodyStreamExhausted),
        (.adaptation, nil), (.retry(original: .timedOut(.idle)), .timedOut), (.retry(original: .adaptation), nil),
        (.redirect(.tooMany(limit: 1)), .httpTooManyRedirects), (.redirect(.loop(url: "")), .httpTooManyRedirects),
        (.redirect(.insecure(url: "")), .appTransportSecurityRequiresSecureConnection),
        (.redirect(.invalidLocation("")), .redirectToNonExistentLocation),
        (.redirect(.bodyNotReplayable), .requestBodyStreamExhausted), (.redirect(.invalidRequest), nil),
        (.cookies(.invalidName), nil), (.authentication(.unsupportedScheme("")), .userAuthenticationRequired),
        (.connection(.nameNotResolved), .cannotFindHost), (.connection(.proxyNameNotResolved), .cannotFindHost),
        (.connection(.refused), .cannotConnectToHost), (.connection(.interface), .cannotConnectToHost),
        (.connection(.lost), .networkConnectionLost), (.connection(.proxy), .cannotConnectToHost),
        (.connection(.http2), .networkConnectionLost), (.connection(.failed), .cannotConnectToHost),
        (.timedOut(.connect), .timedOut), (.timedOut(.idle), .timedOut), (.timedOut(.total), .timedOut),
        (.timedOut(.pool), .timedOut),
        (.trust(.certificateExpired), .serverCertificateHasBadDate),
        (.trust(.untrustedIssuer), .serverCertificateHasUnknownRoot),
        (.trust(.selfSigned), .serverCertificateHasUnknownRoot), (.trust(.hostMismatch), .serverCertificateUntrusted),
        (.trust(.handshake), .secureConnectionFailed),
        (.trust(.clientCertificateRequired), .clientCertificateRequired),
        (.trust(.clientCertificateRefused), .clientCertificateRejected),
        (.trust(.publicKeyPinningFailed), .serverCertificateUntrusted),
        (.trust(.revocationCheckFailed(.revoked)), .serverCertificateUntrusted),
        (.trust(.notEvaluated), .secureConnectionFailed), (.invalidResponse(.malformed), .badServerResponse),
        (.invalidResponse(.headTooLarge(limit: 1)), .dataLengthExceedsMaximum),
        (.invalidResponse(.bodyTooLarge(limit: 1)), .dataLengthExceedsMaximum),
        (.invalidResponse(.truncated), .networkConnectionLost),
        (.invalidResponse(.undecodableContent), .cannotDecodeContentData),
        (.invalidResponse(.http2Stream), .networkConnectionLost), (.validation(.unacceptableStatusCode(404)), nil),
        (.validation(.customValidationFailed), nil), (.serialization(.inputDataNilOrZeroLength), .zeroByteResource),
        (.serialization(.decodingFailed), .cannotParseResponse), (.serialization(.customSerializationFailed), nil),
        (.download(.cannotWriteFile(path: "")), .cannotWriteToFile),
        (.download(.cannotMoveFile(from: "", to: "")), .cannotMoveFile), (.download(.resumeDataInvalid), nil),
        (.download(.cannotResume(statusCode: 200)), .badServerResponse),
        (.eventSource(.unacceptableStatusCode(404)), .badServerResponse), (.cancelled, .cancelled),
        (.sessionShutDown, .cancelled), (.internal, .unknown),
    ]

    @Test(arguments: codes)
    func `an error converts to the matching URLError`(kind: RequestError.Kind, code: URLError.Code?) {
        #expect(RequestError(kind).urlError?.code == code)
    }

    @Test func `a created URLError contains the RequestError`() throws {
        let error = try #require(RequestError(.connection(.refused), detail: "port 1").urlError)
        #expect((error.userInfo[NSUnderlyingErrorKey] as? RequestError)?.kind == .connection(.refused))
        #expect(error.localizedDescription.contains("port 1"))
    }

    @Test func `a created URLError contains the redacted URL`() async throws {
        let session = FoundationFixture.session()
        let response = await session.request("http://u:p@127.0.0.1:1/a?token=secret").serializingData().response
        let error = try #require(response.error?.urlError)
        #expect(error.code == .cannotConnectToHost)
        #expect(error.failingURL?.path == "/a")
        #expect(!"\(error.userInfo)".contains("secret"))
        await session.shutdown()
    }

    static let kinds: [(URLError.Code, RequestError.Kind)] = [
        (.badURL, .invalidURL), (.cancelled, .cancelled), (.timedOut, .timedOut(.idle)),
        (.cannotFindHost, .connection(.nameNotResolved)), (.dnsLookupFailed, .connection(.nameNotResolved)),
        (.cannotConnectToHost, .connection(.refused)), (.networkConnectionLost, .connection(.lost)),
        (.notConnectedToInternet, .connection(.failed)), (.secureConnectionFailed, .trust(.handshake)),
        (.serverCertificateHasBadDate, .trust(.certificateExpired)),
        (.serverCertificateNotYetValid, .trust(.certificateExpired)),
        (.serverCertificateHasUnknownRoot, .trust(.untrustedIssuer)),
        (.serverCertificateUntrusted, .trust(.certificateRefused)),
        (.badServerResponse, .invalidResponse(.malformed)),
        (.cannotDecodeContentData, .invalidResponse(.undecodableContent)),
        (.requestBodyStreamExhausted, .requestBody(.notReplayable)),
        (.zeroByteResource, .serialization(.inputDataNilOrZeroLength)), (.unknown, .internal),
        (.backgroundSessionWasDisconnected, .connection(.failed)),
    ]

    @Test(arguments: kinds)
    func `a URLError converts to a RequestError`(code: URLError.Code, kind: RequestError.Kind) {
        let error = RequestError(URLError(code))
        #expect(error.kind == kind)
        #expect((error.underlying as? URLError)?.code == code)
        #expect(error.urlError?.code == code)
    }

    /// All codes that Foundation has.
    private static let all = ([-1] + Array(-1206 ... -995) + Array(-3007 ... -3000)).compactMap {
        URLError.Code(rawValue: $0)
    }

    @Test func `every code converts to a kind whose code converts back to the same kind`() {
        #expect(Self.all.count > 40)
        for code in Self.all {
            let kind = RequestError(URLError(code)).kind
            // The reason of the failed connection has no code.
            guard kind != .connection(.failed), let own = RequestError(kind).urlError?.code else { continue }
            #expect(RequestError(URLError(own)).kind == kind, "\(code) is \(kind), which is \(own)")
        }
    }

    @Test func `a URLError that an adapter throws is returned unchanged`() async throws {
        let session = FoundationFixture.session()
        let request = session.request("http://127.0.0.1:1/").adapt { _, _ in
            throw URLError(.notConnectedToInternet)
        }
        let error = try #require(await request.serializingData().response.error)
        #expect(error.kind == .adaptation)
        #expect(error.urlError?.code == .notConnectedToInternet)
        await session.shutdown()
    }
}
