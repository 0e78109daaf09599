extension Session.Configuration {
    /// Says whether a host's alternative services are used (RFC 7838): other hosts and ports that serve the same.
    ///
    /// A host names them in the field `Alt-Svc` of a response over TLS. The connection then leads to one of them, whose
    /// certificate must be for the host of the URL. One that cannot be reached fails the request.
    ///
    /// Libcurl remembers them for each of its handles, of which a session has as many as it has had requests in flight at
    /// once: each may have to learn of a service for itself. It uses those with HTTP/1.1 and HTTP/2; Debian's speaks no
    /// HTTP/3.
    @nonexhaustive
    public enum AltSvc: Hashable, Sendable {
        /// They are not.
        case off
        /// They are, for as long as the session lives.
        case memory
        /// They are, and those in the file at a path are known from the beginning, in the format of `curl --alt-svc`.
        ///
        /// The file is read by each handle, on the loop's thread, and never written.
        case file(String)
    }
}
