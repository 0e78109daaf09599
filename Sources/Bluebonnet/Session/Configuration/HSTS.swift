extension Session.Configuration {
    /// The storage for hosts that require TLS (RFC 6797).
    ///
    /// A host requires TLS if it sends the `Strict-Transport-Security` field in a response over TLS. Later requests to
    /// `http` URLs of the host use `https`. The URL of the response then has the scheme `https`. An explicit port in
    /// the URL does not change. IP addresses are never stored.
    ///
    /// ``RedirectLimits/allowsInsecure`` applies to the URL of a redirect before its scheme is changed to `https`.
    @nonexhaustive
    public enum HSTS: Hashable, Sendable {
        /// Hosts are not stored, and requests use the scheme of their URL.
        case off
        /// Hosts are stored in memory until the session ends.
        case memory
        /// Hosts are stored in the file at a path, in the format of `curl --hsts`.
        ///
        /// The file is read before the session's first request and written when the session has ended, on the thread of
        /// the event loop. The directory of the file must exist. The mode of the file becomes 0600, so only its owner
        /// can read and write the file.
        case file(String)
    }
}
