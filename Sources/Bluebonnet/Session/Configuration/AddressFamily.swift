extension Session.Configuration {
    /// The IP versions that connections use.
    @nonexhaustive
    public enum AddressFamily: Hashable, Sendable {
        /// IPv6 and IPv4, whichever connects first (RFC 8305).
        ///
        /// The first address from name lookup gets a head start. The system decides which address is first, in
        /// `/etc/gai.conf` (RFC 6724).
        case any
        /// Only IPv4.
        case ipv4
        /// Only IPv6.
        case ipv6
    }
}
