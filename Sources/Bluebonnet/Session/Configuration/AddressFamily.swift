extension Session.Configuration {
    /// The IP versions that connections use.
    @nonexhaustive
    public enum AddressFamily: Hashable, Sendable {
        /// IPv6 and IPv4; the session uses the first connection that succeeds (RFC 8305).
        ///
        /// Name lookup returns a list of addresses. The session first tries the IP version of the first address in the
        /// list. `/etc/gai.conf` determines the order of the addresses (RFC 6724).
        case any
        /// IPv4 only.
        case ipv4
        /// IPv6 only.
        case ipv6
    }
}
