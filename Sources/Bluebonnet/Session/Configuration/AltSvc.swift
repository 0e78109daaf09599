extension Session.Configuration {
    /// The storage for alternative services, which are other hosts and ports for the same resources (RFC 7838).
    ///
    /// A server lists its alternative services in the `Alt-Svc` field of a response over TLS. Later connections go to
    /// an alternative service. Its certificate must be valid for the host of the URL. If the service cannot be reached,
    /// the request fails.
    ///
    /// Each libcurl handle has its own storage, so each handle must receive the `Alt-Svc` field before it uses a
    /// service. Concurrent requests use different handles. Services for HTTP/1.1 and HTTP/2 are supported. Debian's
    /// libcurl does not support services for HTTP/3.
    @nonexhaustive
    public enum AltSvc: Hashable, Sendable {
        /// Alternative services are not used.
        case off
        /// Alternative services are stored in memory until the session ends.
        case memory
        /// Alternative services are read from the file at a path, and stored in memory until the session ends.
        ///
        /// The file has the format of `curl --alt-svc`. Each libcurl handle reads the file on the thread of the event
        /// loop. The file is never written.
        case file(String)
    }
}
