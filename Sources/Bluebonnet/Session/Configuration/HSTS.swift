extension Session.Configuration {
    /// Says whether hosts are remembered that want to be spoken to over TLS only (RFC 6797).
    ///
    /// Such a host sends the field `Strict-Transport-Security` in a response over TLS. Requests to its `http` URLs then
    /// use `https`, as the response's URL shows; a port that the URL names stays. Hosts that are named by their
    /// addresses are left out. A redirect from `https` to `http` is evaluated by the URL as it stands.
    @nonexhaustive
    public enum HSTS: Hashable, Sendable {
        /// They are not; requests use the scheme of their URL.
        case off
        /// They are, for as long as the session lives.
        case memory
        /// They are, in the file at a path, in the format of libcurl and `curl --hsts`.
        ///
        /// It is read with the session's first request and written when the session has ended, on the loop's thread. It
        /// need not exist, but its folder must. It becomes its owner's only (mode 0600).
        case file(String)
    }
}
