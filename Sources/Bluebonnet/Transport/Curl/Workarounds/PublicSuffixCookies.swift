/// Records the hosts that are public suffixes themselves and may have set cookies for the hosts below them.
///
/// RFC 6265 §5.3 step 5 confines such a cookie to its host, but libcurl sends it to all hosts below (tested with 7.88
/// to 8.23, so this does not depend on the version).
struct PublicSuffixCookies {
    private(set) var hosts: Set<String> = []

    var isEmpty: Bool { hosts.isEmpty }

    /// Called when a host that is a public suffix has set a cookie with a field.
    mutating func received(_ field: String, from host: String) {
        if field.lowercased().contains("domain") { hosts.insert(host) }
    }

    /// Returns the wide cookies of these hosts with their confined replacements, and forgets the hosts.
    mutating func confined(_ kept: [Cookie]) -> [(taken: Cookie, confined: Cookie)] {
        hosts = []
        return kept.filter(\.includesSubdomains).map { cookie in
            var confined = cookie
            confined.includesSubdomains = false
            return (cookie, confined)
        }
    }
}
