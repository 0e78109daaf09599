import Foundation
import FoundationNetworking
import Testing

@testable import BluebonnetCallbacks

struct AFErrorTests {
    private struct Weeds: Error, Equatable {}

    struct Row: Sendable, CustomTestStringConvertible {
        let kind: RequestError.Kind
        let isRight: @Sendable (AFError) -> Bool

        init(_ kind: RequestError.Kind, _ isRight: @escaping @Sendable (AFError) -> Bool) {
            self.kind = kind
            self.isRight = isRight
        }

        var testDescription: String { "\(kind)" }
    }

    /// Each kind of error, and what code in this style would test for.
    static let rows: [Row] = [
        Row(.invalidURL) { $0.isInvalidURLError },
        Row(.invalidRequest(.bodyDataInGETRequest)) { $0.isURLRequestValidationError },
        Row(.invalidRequest(.conversion)) { $0.isCreateURLRequestError && $0.underlyingError is Weeds },
        Row(.parameterEncoding(.encoderFailed)) { $0.isParameterEncoderError && $0.underlyingError is Weeds },
        Row(.multipartEncoding(.bodyPartFileNotReachable("/tmp/rose.png"))) {
            $0.isMultipartEncodingError && $0.url?.path == "/tmp/rose.png"
        },
        Row(.multipartEncoding(.bodyPartURLInvalid("https://garden.test/"))) {
            $0.isMultipartEncodingError && $0.url?.host == "garden.test"
        },
        Row(.multipartEncoding(.bodyPartSequenceFailed(name: "bed"))) {
            $0.isMultipartEncodingError && $0.underlyingError is Weeds
        },
        Row(.requestBody(.fileUnreadable(path: "/x"))) { $0.isCreateUploadableError },
        Row(.adaptation) { $0.isRequestAdaptationError && $0.underlyingError is Weeds },
        Row(.retry(original: .timedOut(.idle))) { error in
            guard case .requestRetryFailed(let retry, let original) = error else { return false }
            return retry is Weeds && original.asAFError?.isSessionTaskError == true
        },
        Row(.redirect(.tooMany(limit: 3))) { $0.isSessionTaskError },
        Row(.cookies(.disabled)) { $0.isSessionTaskError },
        Row(.authentication(.unsupportedScheme("NTLM"))) { $0.isSessionTaskError },
        Row(.connection(.refused)) { $0.isSessionTaskError },
        Row(.timedOut(.connect)) { $0.isSessionTaskError },
        Row(.timedOut(.pool)) { $0.isSessionTaskError && $0.requestError?.isTimeout == true },
        Row(.trust(.selfSigned)) { $0.isServerTrustEvaluationError },
        Row(.trust(.noRequiredEvaluator(host: "garden.test"))) { error in
            guard case .serverTrustEvaluationFailed(.noRequiredEvaluator(let host)) = error else { return false }
            return host == "garden.test"
        },
        Row(.trust(.hostMismatch)) { error in
            guard case .serverTrustEvaluationFailed(.hostValidationFailed) = error else { return false }
            return true
        },
        Row(.trust(.certificatePinningFailed)) { error in
            guard case .serverTrustEvaluationFailed(.certificatePinningFailed) = error else { return false }
            return true
        },
        Row(.trust(.customEvaluationFailed)) { $0.underlyingError is Weeds },
        Row(.invalidResponse(.truncated)) { $0.isSessionTaskError },
        Row(.validation(.unacceptableStatusCode(404))) { $0.isResponseValidationError && $0.responseCode == 404 },
        Row(.validation(.missingContentType(acceptable: ["text/css"]))) {
            $0.acceptableContentTypes == ["text/css"] && $0.responseContentType == nil
        },
        Row(.validation(.unacceptableContentType("a/b", acceptable: ["text/css"]))) {
            $0.acceptableContentTypes == ["text/css"] && $0.responseContentType == "a/b"
        },
        Row(.validation(.customValidationFailed)) { $0.isResponseValidationError && $0.underlyingError is Weeds },
        Row(.serialization(.inputDataNilOrZeroLength)) { $0.isResponseSerializationError },
        Row(.serialization(.stringSerializationFailed(encoding: "utf-8"))) { $0.isResponseSerializationError },
        Row(.serialization(.decodingFailed)) { $0.isResponseSerializationError && $0.underlyingError is Weeds },
        Row(.serialization(.customSerializationFailed)) { $0.underlyingError is Weeds },
        Row(.download(.cannotMoveFile(from: "/a", to: "/b"))) {
            $0.isDownloadedFileMoveError && $0.sourceURL?.path == "/a" && $0.destinationURL?.path == "/b"
        },
        Row(.download(.destinationExists(path: "/b"))) { $0.destinationURL?.path == "/b" },
        Row(.download(.cannotReadFile(path: "/b"))) { $0.isResponseSerializationError },
        Row(.download(.resumeDataInvalid)) { $0.isSessionTaskError },
        Row(.eventSource(.unacceptableStatusCode(500))) { $0.isSessionTaskError },
        Row(.cancelled) { $0.isExplicitlyCancelledError },
        Row(.sessionShutDown) { $0.isSessionDeinitializedError },
        Row(.internal) { $0.isSessionTaskError },
    ]

    @Test(arguments: rows)
    func `each kind of error has its case with a description in one sentence`(_ row: Row) {
        let error = AFError(RequestError(row.kind, underlying: Weeds()))
        #expect(row.isRight(error), "\(error)")
        let answers = [
            error.isCreateUploadableError, error.isCreateURLRequestError, error.isDownloadedFileMoveError,
            error.isExplicitlyCancelledError, error.isInvalidURLError, error.isMultipartEncodingError,
            error.isParameterEncodingError, error.isParameterEncoderError, error.isRequestAdaptationError,
            error.isRequestRetryError, error.isResponseValidationError, error.isResponseSerializationError,
            error.isServerTrustEvaluationError, error.isSessionDeinitializedError, error.isSessionInvalidatedError,
            error.isSessionTaskError, error.isURLRequestValidationError,
        ]
        #expect(answers.filter(\.self).count == 1)
        #expect(error.localizedDescription == error.description && error.description.hasSuffix("."))
    }

    @Test func `Parameters that are not JSON are reported as in Alamofire`() {
        let cause = JSONEncoding.Error.invalidJSONObject
        let error = AFError(RequestError(.parameterEncoding(.encoderFailed), underlying: cause))
        #expect(error.isParameterEncodingError && error.underlyingError is JSONEncoding.Error)
    }

    @Test(arguments: [("utf-8", String.Encoding.utf8), ("iso-8859-1", .isoLatin1), ("utf-16be", .utf16BigEndian)])
    func `The encoding in which a body is not valid text is reported by its registered name`(
        name: String, encoding: String.Encoding
    ) {
        let error = AFError(RequestError(.serialization(.stringSerializationFailed(encoding: name))))
        #expect(error.failedStringEncoding == encoding)
    }

    @Test func `A failed exchange is a URLError that contains the RequestError`() {
        let original = RequestError(.timedOut(.idle))
        let error = AFError(original)
        #expect((error.underlyingError as? URLError)?.code == .timedOut)
        #expect(error.requestError?.kind == original.kind)
        #expect((original as any Error).asAFError?.isSessionTaskError == true)
        #expect((error as any Error).asAFError != nil && (Weeds() as any Error).asAFError == nil)
    }
}
