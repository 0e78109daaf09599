extension Session.Configuration {
    /// Says which cookies a session keeps, and sends back.
    ///
    /// As browsers have it, there are at most 180 of a site, the domain below a public suffix with all its hosts, and 3,300
    /// in all, but for as many as came since they were last counted (30, and 300). Of a site with too many, the oldest go;
    /// of too many in all, those of the sites that have set none for the longest time.
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
