/// Records the hosts that are public suffixes and may have set cookies for their subdomains.
///
/// RFC 6265 §5.3 step 5 limits such a cookie to its host. Libcurl sends it to all subdomains (tested with 7.88 to
/// 8.23).
struct PublicSuffixCookies {
    private(set) var hosts: Set<String> = []

    var isEmpty: Bool { hosts.isEmpty }

    /// Called when a host that is a public suffix has set a cookie with a field.
    mutating func received(_ field: String, from host: String) {
        if field.lowercased().contains("domain") { hosts.insert(host) }
    }

    /// Returns the cookies for subdomains of these hosts with their replacements, and removes the hosts from the list.
    mutating func confined(_ kept: [Cookie]) -> [(taken: Cookie, confined: Cookie)] {
        hosts = []
        return kept.filter(\.includesSubdomains).map { cookie in
            var confined = cookie
            confined.includesSubdomains = false
            return (cookie, confined)
        }
    }
}
