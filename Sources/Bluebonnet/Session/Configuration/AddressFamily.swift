extension Session.Configuration {
    /// Says which versions of IP connections use.
    @nonexhaustive
    public enum AddressFamily: Hashable, Sendable {
        /// IPv6 and IPv4, whichever connects first (RFC 8305); the first address that name lookup gives has a head start.
        ///
        /// Which one that is, is for the system to say: `/etc/gai.conf`, by RFC 6724.
        case any
        /// IPv4 alone.
        case ipv4
        /// IPv6 alone.
        case ipv6
    }
}
