import FoundationEssentials

extension Session.Configuration {
    /// The defaults that complete the URLs of requests.
    struct URLDefaults: Sendable {
        var baseURL: URL?
        var query: [URLQueryItem] = []

        var isEmpty: Bool { baseURL == nil && query.isEmpty }

        /// Whether a URL is relative to the base URL; a colon in a segment, as in `users:batchGet`, ends no scheme.
        private func isRelative(_ url: URL) -> Bool {
            guard let scheme = url.scheme?.lowercased() else { return true }
            return !["http", "https", "ws", "wss"].contains(scheme) && !url.relativeString.contains("://")
        }

        /// Completes the URL of a request.
        ///
        /// The session's secrets belong to the origin of the base URL. A relative URL such as `//other.example/` leads
        /// to another origin, too.
        func complete(_ request: inout HTTPRequest) throws(RequestError) {
            if let baseURL, isRelative(request.url) {
                do throws(RequestError) {
                    try baseURL.checkRequestable()
                } catch {
                    throw RequestError(
                        .invalidRequest(.configuration("baseURL: an http or https URL with a host is needed")))
                }
                let text = request.url.relativeString
                let reference = request.url.scheme == nil ? text : "./" + text
                guard let url = URL(string: reference, relativeTo: baseURL)?.absoluteURL else {
                    throw RequestError.invalidURL(request.url.redactedDescription, detail: "it cannot be resolved")
                }
                request.url = url
            }
            let isOther = baseURL.map { Origin(of: $0) != Origin(of: request.url) } ?? false
            if isOther { request.omitsSessionSecrets = true }
            guard !query.isEmpty, !isOther else { return }
            guard var components = URLComponents(url: request.url, resolvingAgainstBaseURL: true) else {
                throw RequestError.invalidURL(request.url.redactedDescription)
            }
            let given = Set(components.queryItems?.map(\.name) ?? [])
            let missing = URLComponents.encodedQuery(of: query.filter { !given.contains($0.name) })
            guard !missing.isEmpty else { return }
            // The query of the request is not changed.
            let own = components.percentEncodedQuery.map { $0.isEmpty ? "" : $0 + "&" } ?? ""
            components.percentEncodedQuery = own + missing
            if let url = components.url { request.url = url }
        }
    }
}

extension Session.Configuration.URLDefaults: SecretKeeping {
    /// The redacted base URL and the names of the parameters.
    package var text: String { "\(baseURL?.redactedDescription ?? "no base URL"), query: \(query.map(\.name))" }
}

extension URLComponents {
    /// Returns the items in the percent-encoded form of a query.
    fileprivate static func encodedQuery(of items: [URLQueryItem]) -> String {
        var components = URLComponents()
        components.queryItems = items
        // Servers parse a query as a form, in which a plus sign stands for a space.
        return components.percentEncodedQuery?.replacing("+", with: "%2B") ?? ""
    }
}
