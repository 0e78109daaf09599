extension Session.Configuration {
    /// Says whether hosts are remembered that want to be spoken to over TLS only (RFC 6797).
    ///
    /// Such a host says so in the field `Strict-Transport-Security` of a response over TLS. Requests to `http` URLs of it
    /// then use `https`, and the response's URL says so; a port that the URL names stays. Hosts that are named by their
    /// addresses are left out. A redirect from `https` to `http` is judged as it stands.
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
