import FoundationEssentials

/// Decides how a request follows a series of redirects.
///
/// This is a value type without tasks or locks.
struct RedirectChain: Sendable {
    /// The next step after a response.
    enum Action: Sendable {
        /// Deliver the response, because it is not a redirect or has no `Location`.
        case deliver
        /// Send this request next, unless a handler chooses otherwise.
        case follow(HTTPRequest)
        /// Fail the request, because the redirect must not be followed.
        case refuse(RequestError.RedirectReason)
    }

    private let limits: Session.Configuration.RedirectLimits
    private var current: HTTPRequest
    /// The request that was proposed after the latest response.
    private var proposal: HTTPRequest?
    private var hasLeftOrigin = false
    private var count = 0
    /// The number of times each request was sent since cookies were last set.
    private var visits: [VisitedRequest: Int] = [:]
    /// All requests that were sent, regardless of cookies.
    private var visited: Set<VisitedRequest> = []

    init(request: HTTPRequest, limits: Session.Configuration.RedirectLimits) {
        current = request
        self.limits = limits
        hasLeftOrigin = request.omitsSessionSecrets
        note(VisitedRequest(request))
    }

    /// Handles a response to the latest request.
    ///
    /// The limits are not checked yet, because a handler may still choose not to follow the redirect.
    mutating func received(_ response: HTTPResponse) -> Action {
        let decision = RedirectDecision(request: current)
        let fields = RedirectLocation.redirects(response.statusCode) ? response.headers : []
        // With different cookies, the same request may receive a different response.
        if current.handlesCookies, fields.contains("Set-Cookie") { visits = [:] }
        let action = decision.outcome(statusCode: response.statusCode, locations: fields.values(for: "Location"))
        if case .follow(let request) = action { proposal = request }
        return action
    }

    /// Records the request that follows the redirect; throws if this request cannot be sent.
    ///
    /// A handler may have chosen a request other than the proposal. If the chosen request goes to another origin than
    /// the proposal, it loses the secrets of the proposal.
    mutating func followed(with chosen: HTTPRequest) throws(RequestError) -> HTTPRequest {
        var request = chosen
        let origin = Origin(of: request.url)
        if let proposal, Origin(of: proposal.url) != origin { request.removeSecrets(of: proposal) }
        if Origin(of: current.url) != origin { hasLeftOrigin = true }
        request.omitsSessionSecrets = hasLeftOrigin
        try RequestError.wrapping(.redirect(.invalidRequest)) { try request.validate() }
        if let reason = refusalReason(to: request, at: origin) { throw RequestError(.redirect(reason)) }
        note(VisitedRequest(request))
        count += 1
        current = request
        proposal = nil
        return request
    }

    private func refusalReason(to request: HTTPRequest, at origin: Origin) -> RequestError.RedirectReason? {
        let visit = VisitedRequest(request)
        let url = request.url.redactedDescription
        if visits[visit, default: 0] >= Self.visitLimit { return .loop(url: url) }
        if count >= limits.maximum {
            return visited.contains(visit) ? .loop(url: url) : .tooMany(limit: limits.maximum)
        }
        if origin.isInsecure, !Origin(of: current.url).isInsecure, !limits.allowsInsecure { return .insecure(url: url) }
        if let body = request.body, !body.isReplayable { return .bodyNotReplayable }
        return nil
    }

    private mutating func note(_ visit: VisitedRequest) {
        visits[visit, default: 0] += 1
        visited.insert(visit)
    }

    /// The number of times that the same request may be sent while no cookie is set.
    ///
    /// Some servers redirect to the same URL until a resource is ready. A second request is therefore allowed, but not
    /// a third.
    private static let visitLimit = 2

    /// The properties of a request that determine the server's response.
    private struct VisitedRequest: Hashable {
        let method: HTTPMethod
        let url: String
        let hasBody: Bool

        init(_ request: HTTPRequest) {
            method = request.method
            url = Redaction.withoutFragment(request.url.absoluteString)
            hasBody = request.hasBody
        }
    }
}

extension HTTPRequest {
    /// Removes the secrets that were copied from another request.
    fileprivate mutating func removeSecrets(of other: HTTPRequest) {
        headers = HTTPHeaders(
            headers.filter { !HTTPRequest.belongsToOrigin($0.name) || !other.headers.contains($0) })
        if credential == other.credential { credential = nil }
    }
}

/// Creates the request that follows a redirect, by RFC 9110 §15.4.
///
/// Where the RFC leaves a choice, the Fetch standard applies.
///
/// | Status | Method and body |
/// |---|---|
/// | 301, 302 | POST becomes GET without a body; other methods stay the same |
/// | 303 | GET and HEAD stay the same; other methods become GET without a body |
/// | 307, 308 | all methods stay the same |
/// | 300, 304, 305, 306, others | the response is not a redirect |
struct RedirectDecision {
    /// The request that received the redirect.
    let request: HTTPRequest

    /// Decides by the status code and the values of the `Location` fields.
    func outcome(statusCode: Int, locations: [String]) -> RedirectChain.Action {
        guard RedirectLocation.redirects(statusCode) else { return .deliver }
        let isWebSocket = request.headers["Upgrade"] == "websocket"
        switch RedirectLocation.read(locations, of: request.url, isWebSocket: isWebSocket) {
        case .absent: return .deliver
        case .invalid(let text): return .refuse(.invalidLocation(text))
        case .url(let url): return .follow(redirected(to: url, statusCode: statusCode))
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

    /// Whether a field describes the body, which the redirected request does not have (RFC 9110 §15.4).
    private static func isContentField(_ name: String) -> Bool { contentFields.contains(name.lowercased()) }

    private static let contentFields: Set<String> = [
        "content-encoding", "content-language", "content-location", "content-type", "content-length", "content-range",
        "content-md5", "content-digest", "digest", "repr-digest", "last-modified", "expect", "trailer",
        "transfer-encoding",
    ]
}

extension HTTPRequest {
    /// Removes the secret header fields, the credential and `Host`, which are only for the previous origin.
    mutating func leaveOrigin() {
        headers = HTTPHeaders(headers.filter { !Self.belongsToOrigin($0.name) })
        credential = nil
        omitsSessionSecrets = true
    }

    /// Replaces the fields with secrets and the credential by those of the original request.
    mutating func removeSecrets(addedTo original: HTTPRequest) {
        headers = HTTPHeaders(
            headers.filter { !HTTPHeader.isSensitive(name: $0.name) }
                + original.headers.filter { HTTPHeader.isSensitive(name: $0.name) })
        credential = original.credential
        credentialVersion = original.credentialVersion
    }

    /// Whether a field of this name is only for the origin for which it was set.
    static func belongsToOrigin(_ name: String) -> Bool {
        HTTPHeader.isSensitive(name: name) || name.isSameIgnoringCase(as: "Host")
    }
}

extension URL {
    /// Copies this URL's user info to another URL of the same origin, unless that URL has its own.
    func userInfoAdded(to other: URL) -> URL {
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
