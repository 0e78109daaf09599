import FoundationEssentials

/// The data for resuming a download, in this process or a later process.
///
/// The data is stored as JSON in a file next to the partial file, which only the owner can read. The public API uses
/// the same JSON as `Data`. The data contains no user info and no header fields that a description would redact. A
/// resumed request that needs authentication must therefore add its secret again. The query of the URL is kept, because
/// a URL with another query identifies another resource.
struct ResumeData: Hashable, Sendable {
    /// The identifier of the content of the partial file, which changes when the download starts over.
    var id: String
    /// The requested URL, without user info.
    var url: URL
    /// The header fields of the request, except secrets and conditions.
    var headers: HTTPHeaders
    /// The validator of the representation in the partial file.
    var validator: ResumeValidator
    /// The size of the whole representation in bytes, or `nil` if it is unknown.
    var total: Int64?
    /// The path of the partial file.
    var path: String
    /// The size of the partial file when the data was written.
    ///
    /// If the file exists, its actual size is used instead.
    var bytes: Int64

    /// Returns whether the rest of a response to the request can be requested.
    static func isResumable(_ request: HTTPRequest) -> Bool {
        request.method == .get && !request.headers.contains("Range")
    }

    /// The request for the representation, without the fields that request its rest.
    var request: HTTPRequest { HTTPRequest(url: url, headers: headers) }

    /// Returns whether this data and a request refer to the same resource.
    func isOf(_ request: HTTPRequest) -> Bool {
        Self.isResumable(request) && Self.withoutUserInfo(request.url).absoluteString == url.absoluteString
    }

    /// Returns how to resume a partial file with this size.
    func decision(size: Int64) -> ResumeDecision? {
        ResumeDecision(size: size, validator: validator, total: total)
    }

    // MARK: Omitted parts

    /// The names of fields that describe a connection or a body, or that make a request conditional.
    private static let passing: Set<String> = [
        "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "content-length",
        "transfer-encoding", "connection", "expect", "te", "upgrade",
    ]

    private static func harmless(_ headers: HTTPHeaders) -> HTTPHeaders {
        HTTPHeaders(
            headers.filter {
                // If the description of a field is redacted, the field contains a secret.
                !passing.contains($0.name.lowercased()) && $0.description == "\($0.name): \($0.value)"
                    && !SecretNames.isSecretValue($0.value)
            })
    }

    static func withoutUserInfo(_ url: URL) -> URL {
        guard url.user() != nil || url.password() != nil,
            var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return url.absoluteURL }
        components.percentEncodedUser = nil
        components.percentEncodedPassword = nil
        return components.url ?? url
    }
}

extension ResumeData {
    /// Creates the data of an exchange, or returns `nil` if a later request cannot request the rest of the body.
    ///
    /// The response must be a complete representation (200) with a strong validator and without a content coding. The
    /// request must be a GET without a `Range` field (RFC 9110 §14.2).
    init?(request: HTTPRequest, response: HTTPResponse, path: String) {
        guard response.statusCode == 200, Self.isResumable(request), response.head.isUncoded,
            let validator = ResumeValidator(response)
        else { return nil }
        self.init(
            id: FileName.token(), url: Self.withoutUserInfo(request.url), headers: Self.harmless(request.headers),
            validator: validator, total: response.expectedContentLength, path: path, bytes: 0)
    }

    /// The version of the written format.
    ///
    /// Data with another version is refused.
    static let version = 1

    /// The maximum size of resume data in bytes.
    static let limit = 1 << 20

    /// The data as JSON.
    func encoded() -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let entityTag: String? = if case .entityTag(let tag) = validator { tag } else { nil }
        let coded = ResumeDataJSON(
            version: Self.version, id: id, url: url.absoluteString, headers: headers.map { [$0.name, $0.value] },
            entityTag: entityTag, lastModified: entityTag == nil ? validator.fieldValue : nil, total: total, path: path,
            bytes: bytes)
        // Encoding cannot fail, because the values are only strings and integers.
        return (try? encoder.encode(coded)) ?? Data()
    }

    /// Creates resume data from the JSON that ``encoded()`` returned.
    ///
    /// The JSON may come from an untrusted source, so all of its values are validated before use.
    ///
    /// - Parameter data: The JSON to read.
    /// - Throws: `.download(.resumeDataInvalid)` if the data is invalid or has another version.
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

    /// Whether the path has the form of a partial file's path.
    ///
    /// Invalid resume data must not cause another file to be opened.
    private var hasPartialPath: Bool {
        let name = FileSystem.name(of: path)
        return path.utf8.first == 0x2f && !path.utf8.contains(0) && name.utf8.first == 0x2e && name.hasSuffix(".part")
    }
}
