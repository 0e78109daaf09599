extension Session.Configuration {
    /// The IP versions that connections use.
    @nonexhaustive
    public enum AddressFamily: Hashable, Sendable {
        /// IPv6 and IPv4; the first successful connection is used (RFC 8305).
        ///
        /// The IP version of the first address from name lookup is tried first. `/etc/gai.conf` determines the order of
        /// the addresses (RFC 6724).
        case any
        /// IPv4 only.
        case ipv4
        /// IPv6 only.
        case ipv6
    }
}
