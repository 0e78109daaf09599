extension Session.Configuration {
    /// The storage for hosts that require TLS (RFC 6797).
    ///
    /// Such a host sends the `Strict-Transport-Security` field in a response over TLS. Requests to its `http` URLs then
    /// use `https`, which the response's URL shows. A port in the URL does not change. Hosts that are IP addresses are
    /// never remembered.
    ///
    /// A redirect from `https` to `http` is checked before its URL is changed.
    @nonexhaustive
    public enum HSTS: Hashable, Sendable {
        /// Hosts are not remembered; requests use the scheme of their URL.
        case off
        /// Hosts are remembered until the session ends.
        case memory
        /// Hosts are remembered in the file at a path, in the format of `curl --hsts`.
        ///
        /// The file is read before the session's first request and written when the session has ended, on the loop's
        /// thread. The file need not exist, but its directory must. Its mode becomes 0600: only its owner can read and
        /// write it.
        case file(String)
    }
}
