import FoundationEssentials

extension ResumeData {
    /// The version of the format that is written; others are refused.
    static let version = 1

    /// How large resume data may be, in bytes.
    static let limit = 1 << 20

    /// The JSON that stands for this.
    func encoded() -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Texts and whole numbers only: there is nothing in it that could not be encoded.
        return (try? encoder.encode(Coded(self))) ?? Data()
    }

    /// Reads what ``encoded()`` made.
    ///
    /// It may come from anywhere: everything in it is checked before anything is done with it.
    ///
    /// - Parameter data: The JSON.
    /// - Throws: `.download(.resumeDataInvalid)` when it is not that, or of another version.
    init(decoding data: Data) throws(RequestError) {
        guard data.count <= Self.limit, let coded = try? JSONDecoder().decode(Coded.self, from: data) else {
            throw RequestError(.download(.resumeDataInvalid))
        }
        guard coded.version == Self.version else {
            throw RequestError(.download(.resumeDataInvalid), detail: "it is of version \(coded.version)")
        }
        guard let decoded = coded.checked() else { throw RequestError(.download(.resumeDataInvalid)) }
        self = decoded
    }

    /// The members of the JSON.
    private struct Coded: Codable {
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
