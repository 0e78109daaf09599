import FoundationEssentials

/// What is needed to go on with a download, in this process or a later one.
///
/// Beside the partial file it is JSON that only the file's owner may read; users carry the same around as `Data`. It holds
/// no field and no user info that a description would redact: who is to be authenticated again brings the secret along. A
/// URL's query is kept, because another query is another resource.
struct ResumeData: Hashable, Sendable {
    /// Says which beginning of the partial file this is about: one that began again has another.
    var id: String
    /// The URL as it was asked for, without user info.
    var url: URL
    /// The fields of the request that are neither secrets nor conditions.
    var headers: HTTPHeaders
    /// What the bytes are bytes of.
    var validator: ResumeValidator
    /// How many bytes the whole has, if that is known.
    var total: Int64?
    /// The path of the partial file.
    var path: String
    /// How many bytes were there when this was written; beside a file, what is there counts.
    var bytes: Int64

    init(
        id: String, url: URL, headers: HTTPHeaders, validator: ResumeValidator, total: Int64?, path: String,
        bytes: Int64
    ) {
        self.id = id
        self.url = url
        self.headers = headers
        self.validator = validator
        self.total = total
        self.path = path
        self.bytes = bytes
    }

    /// Takes from an exchange what is needed to go on with it; nil when it could not be gone on with.
    ///
    /// Only the whole of a representation (200) that was asked for by GET (RFC 9110 §14.2), without a range of the user's
    /// own and without a content coding, with a strong validator.
    init?(request: HTTPRequest, response: HTTPResponse, path: String) {
        guard response.statusCode == 200, Self.isResumable(request), response.isUncoded,
            let validator = ResumeValidator(response)
        else { return nil }
        self.init(
            id: FileName.token(), url: Self.withoutUserInfo(request.url), headers: Self.harmless(request.headers),
            validator: validator, total: response.expectedContentLength, path: path, bytes: 0)
    }

    /// Whether a part of the answer to the request could be asked for.
    static func isResumable(_ request: HTTPRequest) -> Bool {
        request.method == .get && !request.headers.contains("Range")
    }

    /// The request that fetches the representation, without the fields that ask for its rest.
    var request: HTTPRequest { HTTPRequest(url: url, headers: headers) }

    /// Whether this is of the same resource as a request.
    func isOf(_ request: HTTPRequest) -> Bool {
        Self.isResumable(request) && Self.withoutUserInfo(request.url).absoluteString == url.absoluteString
    }

    /// Returns what can be gone on from, if so many bytes are there.
    func decision(size: Int64) -> ResumeDecision? {
        ResumeDecision(size: size, validator: validator, total: total)
    }

    // MARK: What is left out

    /// Fields that belong to one exchange or to its body, and those that make a request conditional.
    private static let passing: Set<String> = [
        "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "content-length",
        "transfer-encoding", "connection", "expect", "te", "upgrade",
    ]

    private static func harmless(_ headers: HTTPHeaders) -> HTTPHeaders {
        HTTPHeaders(
            headers.filter {
                // What its description redacts is a secret, or has one in it.
                !passing.contains($0.name.lowercased()) && $0.description == "\($0.name): \($0.value)"
                    && !SecretNames.isSecretValue($0.value)
            })
    }

    private static func withoutUserInfo(_ url: URL) -> URL {
        guard url.user() != nil || url.password() != nil,
            var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return url.absoluteURL }
        components.percentEncodedUser = nil
        components.percentEncodedPassword = nil
        return components.url ?? url
    }
}
