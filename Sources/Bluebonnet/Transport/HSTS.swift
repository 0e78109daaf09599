extension Session.Configuration {
    /// The storage for hosts that require TLS (HTTP Strict Transport Security, RFC 6797).
    ///
    /// A host requires TLS if it sends the `Strict-Transport-Security` field in a response over TLS. If the field
    /// contains `includeSubDomains`, the host's subdomains also require TLS. Later requests to `http` URLs of these
    /// hosts use `https` instead. The URL of the response then has the scheme `https`. The port 80 becomes 443, and
    /// other ports do not change. IP addresses are never stored.
    ///
    /// A redirect from `https` to an `http` URL counts as insecure even if the host requires TLS. The session refuses
    /// such a redirect if ``RedirectLimits/allowsInsecure`` is `false`.
    @nonexhaustive
    public enum HSTS: Hashable, Sendable {
        /// Hosts are not stored, and requests use the scheme of their URL.
        case off
        /// Hosts are stored in memory until the session ends.
        case memory
        /// Hosts are stored in the file at a path, in the format of `curl --hsts`.
        ///
        /// The session reads the file before its first request. When the session has ended, it adds its changes to the
        /// file. The file replaces a symbolic link at the path. The directory of the file must exist. The mode of the
        /// file becomes 0600, so only its owner can read and write the file.
        case file(String)
    }
}
