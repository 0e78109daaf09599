import FoundationEssentials

/// The data to resume a download with, in this process or a later one.
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
    /// The state of the resource that the bytes are of.
    var validator: ResumeValidator
    /// How many bytes the whole has, if that is known.
    var total: Int64?
    /// The path of the partial file.
    var path: String
    /// How many bytes the partial file had when this was written; beside a file, that file's size counts.
    var bytes: Int64

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

    /// Returns how to go on, if the partial file has so many bytes.
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
                // A field that its description redacts holds a secret.
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

extension ResumeData {
    /// Makes the data of an exchange; `nil` if a later request could not ask for the rest of its body.
    ///
    /// Only the whole of a representation (200) that was asked for by GET (RFC 9110 §14.2), without a range of the user's
    /// own and without a content coding, with a strong validator.
    init?(request: HTTPRequest, response: HTTPResponse, path: String) {
        guard response.statusCode == 200, Self.isResumable(request), response.head.isUncoded,
            let validator = ResumeValidator(response)
        else { return nil }
        self.init(
            id: FileName.token(), url: Self.withoutUserInfo(request.url), headers: Self.harmless(request.headers),
            validator: validator, total: response.expectedContentLength, path: path, bytes: 0)
    }

    /// The version of the format that is written; others are refused.
    static let version = 1

    /// How large resume data may be, in bytes.
    static let limit = 1 << 20

    /// The JSON that stands for this.
    func encoded() -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Texts and whole numbers only: there is nothing in it that could not be encoded.
        return (try? encoder.encode(ResumeDataJSON(self))) ?? Data()
    }

    /// Reads the JSON that ``encoded()`` makes.
    ///
    /// It may come from anywhere: everything in it is checked before anything is done with it.
    ///
    /// - Parameter data: The JSON.
    /// - Throws: `.download(.resumeDataInvalid)` when it is not that, or of another version.
    init(decoding data: Data) throws(RequestError) {
        guard data.count <= Self.limit, let coded = try? JSONDecoder().decode(ResumeDataJSON.self, from: data) else {
            throw RequestError(.download(.resumeDataInvalid))
        }
        guard coded.version == Self.version else {
            throw RequestError(.download(.resumeDataInvalid), detail: "it is of version \(coded.version)")
        }
        guard let decoded = coded.checked() else { throw RequestError(.download(.resumeDataInvalid)) }
        self = decoded
    }

    /// The members of the JSON.
    private struct ResumeDataJSON: Codable {
        var version: Int
        var id: String
        var url: String
        var headers: [[String]]
        var entityTag: String?
        var lastModified: String?
        var total: Int64?
        var path: String
        var bytes: Int64

        init(_ data: ResumeData) {
            version = ResumeData.version
            id = data.id
            url = data.url.absoluteString
            headers = data.headers.map { [$0.name, $0.value] }
            switch data.validator {
            case .entityTag(let tag): entityTag = tag
            case .lastModified(let date): lastModified = date
            }
            total = data.total
            path = data.path
            bytes = data.bytes
        }

        func checked() -> ResumeData? {
            guard let url = URL(string: url), headers.allSatisfy({ $0.count == 2 }) else { return nil }
            let validator =
                entityTag.map { ResumeValidator.entityTag($0) }
                ?? lastModified.map { ResumeValidator.lastModified($0) }
            guard let validator, validator.isWellFormed, bytes >= 0, total.map({ $0 >= 0 }) ?? true else { return nil }
            let data = ResumeData(
                id: id, url: url, headers: HTTPHeaders(headers.map { HTTPHeader(name: $0[0], value: $0[1]) }),
                validator: validator, total: total, path: path, bytes: bytes)
            guard (try? data.request.validate()) != nil, data.hasPartialPath else { return nil }
            return data
        }
    }

    /// Whether the path is one that a partial file can have: no other file is ever opened because of resume data.
    private var hasPartialPath: Bool {
        let name = FileSystem.name(of: path)
        return path.utf8.first == 0x2f && !path.utf8.contains(0) && name.utf8.first == 0x2e && name.hasSuffix(".part")
    }
}
