import FoundationEssentials

/// Decides what is left of a request that is redirected: RFC 9110 §15.4, and the Fetch standard where that leaves a choice.
///
/// | Status | Method and body |
/// |---|---|
/// | 301, 302 | POST becomes GET without a body; others stay |
/// | 303 | GET and HEAD stay; others become GET without a body |
/// | 307, 308 | all stay |
/// | 300, 304, 305, 306, others | no redirect |
struct RedirectDecision {
    /// What a response leads to.
    enum Outcome {
        /// Nowhere else: it is the answer.
        case deliver
        case follow(HTTPRequest)
        case refuse(RequestError.RedirectReason)
    }

    /// The request that is redirected.
    let request: HTTPRequest

    /// Decides by the status code and the values of the `Location` fields.
    func outcome(statusCode: Int, locations: [String]) -> Outcome {
        guard Self.redirects(statusCode) else { return .deliver }
        switch RedirectLocation.read(locations, of: request.url) {
        case .nowhere: return .deliver
        case .invalid(let text): return .refuse(.invalidLocation(text))
        case .url(let url): return .follow(redirected(to: url, statusCode: statusCode))
        }
    }

    /// Whether a status code says that the answer is elsewhere, and where.
    static func redirects(_ statusCode: Int) -> Bool {
        switch statusCode {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    private func redirected(to url: URL, statusCode: Int) -> HTTPRequest {
        var next = request
        next.url = url
        if becomesGet(statusCode) {
            next.method = .get
            next.body = nil
            next.headers = HTTPHeaders(next.headers.filter { !Self.isContentField($0.name) })
        }
        let (from, to) = (Origin(of: request.url), Origin(of: url))
        if from == to {
            next.url = request.url.userInfoAdded(to: url)
        } else {
            next.leaveOrigin()
        }
        if !from.isInsecure, to.isInsecure { next.headers.remove(name: "Referer") }
        return next
    }

    private func becomesGet(_ statusCode: Int) -> Bool {
        switch statusCode {
        case 301, 302: request.method == .post
        case 303: request.method != .get && request.method != .head
        default: false
        }
    }

    /// Whether a field is about the body, which the redirected request has not (RFC 9110 §15.4).
    private static func isContentField(_ name: String) -> Bool { contentFields.contains(name.lowercased()) }

    private static let contentFields: Set<String> = [
        "content-encoding", "content-language", "content-location", "content-type", "content-length", "content-range",
        "content-md5", "content-digest", "digest", "repr-digest", "last-modified", "expect", "trailer",
        "transfer-encoding",
    ]
}

extension HTTPRequest {
    /// Drops what belongs to the origin that is left: fields that carry secrets, the credential, and `Host`.
    mutating func leaveOrigin() {
        headers = HTTPHeaders(headers.filter { !Self.belongsToOrigin($0.name) })
        credential = nil
        omitsSessionSecrets = true
    }

    /// Whether a field of this name is for the origin alone for which it was set.
    static func belongsToOrigin(_ name: String) -> Bool {
        HTTPHeader.isSensitive(name: name) || name.isSameIgnoringCase(as: "Host")
    }
}

extension URL {
    /// Returns a URL of the same origin with this one's user info, unless it has its own.
    fileprivate func userInfoAdded(to other: URL) -> URL {
        let (text, otherText) = (absoluteString, other.absoluteString)
        let (syntax, otherSyntax) = (URLSyntax(text.utf8.span), URLSyntax(otherText.utf8.span))
        let userInfo = text.utf8.dropFirst(syntax.authority.lowerBound)
            .prefix(syntax.host.lowerBound - syntax.authority.lowerBound)
        guard !userInfo.isEmpty, otherSyntax.host.lowerBound == otherSyntax.authority.lowerBound else { return other }
        let start = otherText.utf8.prefix(otherSyntax.host.lowerBound)
        let end = otherText.utf8.dropFirst(otherSyntax.host.lowerBound)
        return URL(string: String(decoding: Array(start) + Array(userInfo) + Array(end), as: UTF8.self)) ?? other
    }
}
