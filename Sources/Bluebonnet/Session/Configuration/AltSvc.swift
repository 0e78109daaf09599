extension Session.Configuration {
    /// The storage for alternative services (RFC 7838): other hosts and ports that serve the same resources.
    ///
    /// A host names its services in the `Alt-Svc` field of a response over TLS. Later connections then go to one of
    /// them, whose certificate must be valid for the host of the URL. If the service cannot be reached, the request
    /// fails.
    ///
    /// Each libcurl handle has its own storage. A session has as many handles as it has had requests running at the
    /// same time. Each handle may have to learn a service separately. Services for HTTP/1.1 and HTTP/2 are used;
    /// Debian's libcurl does not support HTTP/3.
    @nonexhaustive
    public enum AltSvc: Hashable, Sendable {
        /// Alternative services are not used.
        case off
        /// Alternative services are remembered until the session ends.
        case memory
        /// Alternative services are remembered until the session ends, in addition to those in the file at a path.
        ///
        /// The file has the format of `curl --alt-svc`. Each handle reads it, on the loop's thread. It is never
        /// written.
        case file(String)
    }
}
