import FoundationEssentials

extension Session.Configuration {
    /// The defaults that complete the URLs of requests.
    struct URLDefaults: Sendable {
        var baseURL: URL?
        var query: [URLQueryItem] = []

        var isEmpty: Bool { baseURL == nil && query.isEmpty }

        /// Completes the URL of a request.
        func complete(_ request: inout HTTPRequest) throws(RequestError) {
            if let baseURL, request.url.scheme == nil {
                do throws(RequestError) {
                    try baseURL.checkRequestable()
                } catch {
                    throw RequestError(
                        .invalidRequest(.configuration("baseURL: an http or https URL with a host is needed")))
                }
                guard let url = URL(string: request.url.relativeString, relativeTo: baseURL)?.absoluteURL else {
                    throw RequestError.invalidURL(request.url.redactedDescription, detail: "it cannot be resolved")
                }
                request.url = url
            }
            guard !query.isEmpty, baseURL.map({ Origin(of: $0) == Origin(of: request.url) }) ?? true else { return }
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
