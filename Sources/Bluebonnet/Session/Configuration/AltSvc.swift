extension Session.Configuration {
    /// The storage for alternative services, which are other hosts and ports for the same resources (RFC 7838).
    ///
    /// A server lists its alternative services in the `Alt-Svc` field of a response over TLS. Later connections go to
    /// an alternative service. The certificate of the service must be valid for the host of the URL. If a connection to
    /// the service cannot be made, the request fails.
    ///
    /// Each request runs on a libcurl handle, and a later request can use the same handle again. Each handle has its
    /// own storage. A handle learns a service only from an `Alt-Svc` field that it receives itself, or from the file of
    /// ``file(_:)``. Concurrent requests use different handles, so each of these handles must learn the service.
    /// Services for HTTP/1.1 and HTTP/2 are used. Services for HTTP/3 require libcurl 8.18.0 or later with support for
    /// HTTP/3, and are not used for requests through a proxy. If an HTTP/3 service has the host and the port of the
    /// URL, libcurl also tries to connect over TCP.
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
