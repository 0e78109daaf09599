import FoundationEssentials

extension Session.Configuration {
    /// The defaults that complete the URLs of requests.
    struct URLDefaults: Sendable {
        var baseURL: URL?
        var replacesLastSegment = false
        var query: [URLQueryItem] = []

        var isEmpty: Bool { baseURL == nil && query.isEmpty }

        /// Schemes that are not the beginning of a segment.
        private static let schemes: Set<String> = [
            "about", "blob", "data", "file", "ftp", "http", "https", "javascript", "mailto", "sms", "tel", "urn", "ws",
            "wss",
        ]

        /// Whether a URL is relative to the base URL; a colon in a segment, as in `users:batchGet`, ends no scheme.
        private static func isRelative(_ url: URL) -> Bool {
            guard let scheme = url.scheme?.lowercased() else { return true }
            let rest = url.relativeString.utf8.dropFirst(scheme.utf8.count + 1)
            // Something else is rather a mistake, such as `localhost:8080/a` without `http://`.
            let isPort = rest.first.map { $0 &- 0x30 < 10 } ?? true
            return !isPort && !rest.starts(with: "//".utf8) && !Self.schemes.contains(scheme)
        }

        /// The base URL; ends with a slash if the reference is a path below it.
        private func base(for reference: String) -> URL? {
            guard !replacesLastSegment, let baseURL, let first = reference.utf8.first, !"/?#".utf8.contains(first),
                var components = URLComponents(url: baseURL, resolvingAgainstBaseURL: true),
                !components.percentEncodedPath.hasSuffix("/")
            else { return baseURL }
            components.percentEncodedPath += "/"
            return components.url ?? baseURL
        }

        /// Completes the URL of a request.
        ///
        /// The session's secrets belong to the origin of the base URL. A relative URL such as `//other.example/` leads
        /// to another origin, too.
        func complete(_ request: inout HTTPRequest) throws(RequestError) {
            let isRelative = baseURL.map { _ in Self.isRelative(request.url) } ?? false
            var isOther = false
            if let baseURL, isRelative {
                do throws(RequestError) {
                    try baseURL.checkRequestable()
                } catch {
                    throw RequestError(
                        .invalidRequest(.configuration("baseURL: an http or https URL with a host is needed")))
                }
                var text = request.url.relativeString
                if text.last == "#" {
                    // Parameters may have been added to ``URL/emptyReference``, which stands for the whole base URL.
                    text.removeLast()
                    let query = URLComponents(url: baseURL, resolvingAgainstBaseURL: true)?.percentEncodedQuery ?? ""
                    if text.first == "?", !query.isEmpty { text = "?\(query)&\(text.dropFirst())" }
                }
                let reference = request.url.scheme == nil ? text : "./" + text
                let resolved = text.isEmpty ? baseURL : URL(string: reference, relativeTo: base(for: reference))
                guard let url = resolved?.absoluteURL else {
                    throw RequestError.invalidURL(request.url.redactedDescription, detail: "it cannot be resolved")
                }
                request.url = url
                // Most relative URLs cannot leave the origin.
                if reference.hasPrefix("//") { isOther = Origin(of: baseURL) != Origin(of: url) }
            } else if let baseURL {
                isOther = Origin(of: baseURL) != Origin(of: request.url)
            }
            if isOther { (request.omitsSessionSecrets, request.isOutsideBase) = (true, true) }
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
