/// The session's settings that a cache needs.
struct CacheSettings: Sendable {
    var policy: HTTPRequest.CachePolicy = .useProtocolCachePolicy
    /// The session's default header fields.
    var headers = HTTPHeaders()
    /// The session's default header fields without secrets, for requests after a redirect to another origin.
    var openHeaders = HTTPHeaders()
    /// The cookies that the transport sends, if they are known.
    var cookies: SessionCookies?
    /// Whether the transport may send other cookies than those of the request's header fields.
    var hasHiddenCookies = false
    /// Whether bodies keep their content coding.
    var keepsCoding = false
    /// The settings that determine the resource of a URL and the coding of its body, as text; empty for default
    /// settings.
    var view = ""
    /// The session's limit for an exchange, if it is set.
    var totalLimit: Duration?
}
