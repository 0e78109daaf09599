import FoundationEssentials

/// Decides whether an exchange sends and keeps cookies, as a value.
struct CookieDecision {
    let policy: Session.Configuration.Cookies.Policy
    /// Returns the site of a host: what is registered under a public suffix.
    var site: (String) -> String = PublicSuffixes.site(of:)

    /// Whether the session's cookies take part in the exchange of a request.
    func includesCookies(in request: HTTPRequest) -> Bool {
        guard request.handlesCookies else { return false }
        switch policy {
        case .always: return true
        case .never: return false
        case .onlyFromVisitedSite:
            guard let first = request.firstPartyURL else { return true }
            guard let visited = CookieTarget(first), let asked = CookieTarget(request.url) else { return false }
            return visited.host == asked.host || site(visited.host) == site(asked.host)
        }
    }
}
