import FoundationEssentials

/// Decides where a request goes on, from one redirect to the next, as a value.
struct RedirectChain: Sendable {
    /// What a response leads to.
    enum Action: Sendable {
        /// It is the answer: no redirect, or none that says where to.
        case deliver
        /// This would be sent next, if nobody decides otherwise.
        case follow(HTTPRequest)
        /// It must not be followed.
        case refuse(RequestError.RedirectReason)
    }

    private let limits: Session.Configuration.RedirectLimits
    private var current: HTTPRequest
    /// What was proposed after the latest response.
    private var proposal: HTTPRequest?
    private var hasLeftOrigin = false
    private var count = 0
    /// How often what was sent, and since when cookies were set the last time.
    private var visits: [Visit: Int] = [:]
    /// The same, whatever cookies were set.
    private var visited: Set<Visit> = []

    init(request: HTTPRequest, limits: Session.Configuration.RedirectLimits) {
        current = request
        self.limits = limits
        hasLeftOrigin = request.omitsSessionSecrets
        note(Visit(request))
    }

    /// A response came to the latest request.
    ///
    /// What limits the redirects is not looked at before it is known that this one is to be followed.
    mutating func received(_ response: HTTPResponse) -> Action {
        let decision = RedirectDecision(request: current)
        let fields = RedirectDecision.redirects(response.statusCode) ? response.headers : []
        // With other cookies, the same request may well have another answer.
        if current.handlesCookies, fields.contains("Set-Cookie") { visits = [:] }
        switch decision.outcome(statusCode: response.statusCode, locations: fields.values(for: "Location")) {
        case .deliver: return .deliver
        case .refuse(let reason): return .refuse(reason)
        case .follow(let request):
            proposal = request
            return .follow(request)
        }
    }

    /// A request was chosen to go on with; throws if it cannot be sent.
    ///
    /// It may be another than the proposed one, whose secrets do not go where it was not proposed to go.
    mutating func followed(with chosen: HTTPRequest) throws(RequestError) -> HTTPRequest {
        var request = chosen
        let origin = Origin(of: request.url)
        if let proposal, Origin(of: proposal.url) != origin { request.removeSecrets(of: proposal) }
        if Origin(of: current.url) != origin { hasLeftOrigin = true }
        request.omitsSessionSecrets = hasLeftOrigin
        do throws(RequestError) {
            try request.validate()
        } catch {
            throw RequestError(.redirect(.invalidRequest), underlying: error)
        }
        if let reason = objection(to: request, at: origin) { throw RequestError(.redirect(reason)) }
        note(Visit(request))
        count += 1
        current = request
        proposal = nil
        return request
    }

    private func objection(to request: HTTPRequest, at origin: Origin) -> RequestError.RedirectReason? {
        let visit = Visit(request)
        let url = request.url.redactedDescription
        if visits[visit, default: 0] >= Self.visitLimit { return .loop(url: url) }
        if count >= limits.maximum {
            return visited.contains(visit) ? .loop(url: url) : .tooMany(limit: limits.maximum)
        }
        if origin.isInsecure, !Origin(of: current.url).isInsecure, !limits.allowsInsecure { return .insecure(url: url) }
        if let body = request.body, !body.isReplayable { return .bodyNotReplayable }
        return nil
    }

    private mutating func note(_ visit: Visit) {
        visits[visit, default: 0] += 1
        visited.insert(visit)
    }

    /// How often the same may be sent without a cookie having been set in between: servers that redirect to where the
    /// request was until something is ready are given another chance, but no third.
    private static let visitLimit = 2

    /// What a server sees of a request that decides about its answer.
    private struct Visit: Hashable {
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
    /// Drops what belongs to the origin of another request, and was taken over from that.
    fileprivate mutating func removeSecrets(of other: HTTPRequest) {
        headers = HTTPHeaders(
            headers.filter { !HTTPRequest.belongsToOrigin($0.name) || !other.headers.contains($0) })
        if credential == other.credential { credential = nil }
    }
}
