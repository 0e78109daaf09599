extension Session.Configuration {
    /// Says which cookies a session keeps, and sends back.
    ///
    /// The limits are those of browsers: 180 cookies of a site, which is the domain below a public suffix with all its hosts,
    /// and 3,300 in all. They are counted now and then, so there may be 30 more of a site, and 300 more in all. When a site
    /// has too many, its oldest go. When there are too many in all, those of the sites go that set none for the longest time.
    public struct Cookies: Hashable, Sendable {
        /// Whose cookies are kept and sent; ``Policy/always`` by default.
        public var policy: Policy = .always

        /// The cookies that the session begins with; none by default.
        ///
        /// ``Cookie/load(from:)`` reads them from a file. One that cannot be kept makes every request of the session fail
        /// with ``RequestError/Kind-swift.enum/cookies(_:)``.
        public var initial: [Cookie] = []

        /// Creates the default settings.
        public init() {}

        /// Says whose cookies are kept and sent.
        @nonexhaustive
        public enum Policy: Hashable, Sendable {
            /// Those of every host that is asked for something.
            case always
            /// Those of the site that a request was made to, and not of others that it is redirected to.
            ///
            /// A site is what is registered under a public suffix: `example.co.uk` with all hosts below it.
            case onlyFromVisitedSite
            /// None: the session has no cookies.
            case never
        }
    }
}
