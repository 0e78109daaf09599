import FoundationEssentials

/// The parts of a file that are fetched at the same time, and the state of each part.
///
/// The value decides what a response means. Its JSON is written to the sidecar of the partial file, so that a later
/// process can continue. Ordinary resume data in such a file has another version, so neither is read as the other.
struct RangePlan: Hashable, Sendable, Codable {
    /// A part of the file.
    struct Part: Hashable, Sendable, Codable {
        /// The position of the first missing byte of the part.
        var position: Int64
        /// The position after the last byte of the part.
        let end: Int64
    }

    /// The maximum number of parts.
    static let maximumCount = 32

    /// The minimum size of a part in bytes; a smaller part is not worth a connection.
    static let minimumSize: Int64 = 256 * 1024

    /// The version of the written format.
    private(set) var version = 2
    /// The requested URL without user info.
    let url: String
    /// The URL that responded, after redirects, without user info and query.
    let location: String
    /// The strong entity tag of the file, or `nil` if the file is fetched over one connection.
    let entityTag: String?
    /// The size of the file in bytes, or `nil` if it is unknown.
    let total: Int64?
    /// The parts, in the order of their positions and without gaps.
    var parts: [Part]

    /// The number of bytes in the file.
    var completed: Int64 { zip(parts, [0] + parts.map(\.end)).reduce(0) { $0 + $1.0.position - $1.1 } }

    /// Divides a file into parts of nearly the same size.
    static func parts(of total: Int64, count: Int) -> [Part] {
        let count = max(1, min(Int64(min(count, maximumCount)), total / minimumSize))
        let (size, rest) = total.quotientAndRemainder(dividingBy: count)
        return (0..<count).map { index in
            let start = size * index + min(index, rest)
            return Part(position: start, end: start + size + (index < rest ? 1 : 0))
        }
    }

    // MARK: Responses

    /// Plans the parts after the first response, whose body begins at the first byte of the file.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - url: The requested URL without user info.
    ///   - hasRange: Whether the request had the field `Range: bytes=0-`.
    ///   - count: The number of parts.
    /// - Returns: The plan, or `nil` if the whole file must be requested without a range.
    /// - Throws: `.invalidResponse(.malformed)` if the body does not begin at the first byte.
    static func begun(
        by response: HTTPResponse, to url: String, hasRange: Bool, count: Int
    ) throws(RequestError) -> RangePlan? {
        var (total, tag): (Int64?, String?) = (response.expectedContentLength, nil)
        switch response.statusCode {
        case 200: break
        // Servers respond with this status code if the file is empty.
        case 416 where hasRange: return nil
        case 206 where hasRange:
            guard case .bytes(0, let last, let size)? = range(of: response) else { throw misfit }
            if size != nil, case .entityTag(let strong)? = ResumeValidator(response) { tag = strong }
            // Without a validator, the body can be used only if it is the whole file.
            guard tag != nil || last + 1 == size else { return nil }
            total = size
        default: throw misfit
        }
        let parts = tag == nil ? [] : parts(of: total ?? 0, count: count)
        return RangePlan(
            url: url, location: location(of: response), entityTag: tag, total: total,
            parts: parts.isEmpty ? [Part(position: 0, end: total ?? .max)] : parts)
    }

    /// Checks that the body of a later response begins at the requested position.
    ///
    /// Validators of different URLs are not comparable (RFC 9110 §8.8). Therefore, only the size of a mirror's file is
    /// compared, and the file counts as changed if a redirect leads to another URL than before.
    ///
    /// - Throws: `.download(.changedOnServer)`, or `.invalidResponse(.malformed)` for another range than requested.
    func check(_ response: HTTPResponse, at position: Int64, isMirror: Bool) throws(RequestError) {
        let changed = RequestError(.download(.changedOnServer))
        if !isMirror {
            guard response.statusCode == 206, Self.location(of: response) == location, let entityTag,
                !ResumeValidator.entityTag(entityTag).isContradicted(by: response)
            else { throw changed }
        }
        guard response.statusCode == 206, case .bytes(position, _, let size)? = Self.range(of: response) else {
            throw Self.misfit
        }
        guard size == nil || size == total else { throw isMirror ? Self.misfit : changed }
    }

    private static var misfit: RequestError {
        RequestError(.invalidResponse(.malformed), detail: "the response does not fit the requested range")
    }

    private static func range(of response: HTTPResponse) -> ContentRange? {
        response.head.isUncoded || response.keepsCoding
            ? response.headers["Content-Range"].flatMap { ContentRange($0) } : nil
    }

    private static func location(of response: HTTPResponse) -> String {
        String(ResumeData.withoutUserInfo(response.url).absoluteString.prefix { $0 != "?" && $0 != "#" })
    }

}

extension RangePlan {
    /// Reads the state of an earlier download, or returns `nil` if it does not fit.
    ///
    /// If all bytes are there, the last byte counts as missing. Its response shows whether the server still has the
    /// same file.
    ///
    /// - Parameters:
    ///   - data: The JSON, which may have any content.
    ///   - urls: The URLs that can be requested.
    ///   - fileSize: The size of the partial file in bytes.
    init?(decoding data: Data, urls: [String], fileSize: Int64) {
        guard let plan = try? JSONDecoder().decode(Self.self, from: data), plan.version == 2, urls.contains(plan.url),
            plan.total == fileSize, let tag = plan.entityTag, ResumeValidator.entityTag(tag).isWellFormed,
            plan.parts.last?.end == fileSize, plan.parts.count <= Self.maximumCount
        else { return nil }
        for (part, start) in zip(plan.parts, [0] + plan.parts.map(\.end)) {
            guard start < part.end, start <= part.position, part.position <= part.end else { return nil }
        }
        self = plan
        if completed == total { parts[parts.count - 1].position -= 1 }
    }
}
