/// Knows the hosts that are public suffixes themselves and may have set cookies for the hosts below them.
///
/// RFC 6265 §5.3 gives such a cookie back to its host in step 5; libcurl sends it to all of them (seen from 7.88 to
/// 8.23, so this is not switched by the version).
struct PublicSuffixCookies {
    private(set) var hosts: Set<String> = []

    var isEmpty: Bool { hosts.isEmpty }

    /// A host that is a public suffix has set a cookie by a field.
    mutating func received(_ field: String, from host: String) {
        if field.lowercased().contains("domain") { hosts.insert(host) }
    }

    /// The cookies of these hosts alone, in place of those that libcurl keeps; forgets the hosts.
    mutating func confined(_ kept: [Cookie]) -> [(taken: Cookie, confined: Cookie)] {
        hosts = []
        return kept.filter(\.includesSubdomains).map { cookie in
            var confined = cookie
            confined.includesSubdomains = false
            return (cookie, confined)
        }
    }
}
