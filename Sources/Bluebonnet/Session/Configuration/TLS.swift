extension Session.Configuration {
    /// Says how servers are authenticated and what TLS may be spoken.
    public struct TLS: Hashable, Sendable {
        /// The lowest version of TLS to accept; 1.2 by default.
        public var minimumVersion: Version = .v1_2

        /// The highest version of TLS to speak; `nil`, the default, for the highest that OpenSSL knows.
        public var maximumVersion: Version?

        /// The ciphers that may be used with TLS 1.2, best first, by OpenSSL's names, such as
        /// `ECDHE-ECDSA-AES256-GCM-SHA384`; empty, the default, for OpenSSL's choice.
        ///
        /// What `openssl ciphers` knows beside names, such as `HIGH` or `!aNULL`, may be used as well. A name that
        /// OpenSSL does not know fails every request with `.invalidRequest(.configuration)`.
        public var ciphers: [String] = []

        /// The cipher suites that may be used with TLS 1.3, best first, such as `TLS_AES_256_GCM_SHA384`; empty, the
        /// default, for OpenSSL's choice.
        ///
        /// A name that OpenSSL does not know fails every request with `.invalidRequest(.configuration)`.
        public var cipherSuites: [String] = []

        /// The client certificate for servers that request one; `nil`, the default, for none.
        ///
        /// Hosts listed in ``clientIdentities`` get that identity instead.
        public var clientIdentity: ClientIdentity?

        /// The same for a few hosts; empty by default.
        ///
        /// Hosts have no ports. `*.` stands for exactly one label, and a host's own identity goes before that of a
        /// wildcard, as with ``ServerTrustManager``. What an identity is for follows from the host of each request,
        /// also of those that a redirect leads to: no other host is shown it. A key that is not a host fails every
        /// request with `.invalidRequest(.configuration)`, and so do two that are the same host.
        public var clientIdentities: [String: ClientIdentity] = [:]

        /// The client certificate for an HTTPS proxy that requests one; `nil`, the default, for none.
        ///
        /// Servers are not shown it, and a proxy is not shown theirs.
        public var proxyClientIdentity: ClientIdentity?

        /// A file of PEM certificates, the authorities to trust instead of the system's; `nil` by default.
        ///
        /// Whatever is said here of authorities holds for proxies, too. Files and directories are read when a connection needs
        /// them, and again when they have changed; a directory when a file was added or removed. One that cannot be read, or
        /// that holds no certificate, fails the requests that need a connection with `.trust(.configuration)`.
        public var caFile: String?

        /// A directory of certificates, the authorities to trust instead of the system's, or beside ``caFile``; `nil` by
        /// default.
        ///
        /// Its files are those that ``Certificate/all(inDirectory:)`` reads, and those that OpenSSL finds by the hash of a
        /// subject, as `openssl rehash` names them.
        public var caDirectory: String?

        /// The certificates of authorities to trust instead of the system's, or beside ``caFile`` and ``caDirectory``; `nil` by
        /// default.
        ///
        /// Without any, an array fails every connection with `.trust(.configuration)`: it does not stand for the system's.
        public var caCertificates: [Certificate]?

        /// Whether the system's authorities are trusted beside those of ``caFile``, ``caDirectory`` and ``caCertificates``;
        /// `false` by default.
        ///
        /// They are trusted in any case if those are all `nil`.
        public var includesSystemAuthorities = false

        /// Creates the default settings.
        public init() {}

        /// A version of TLS.
        @nonexhaustive
        public enum Version: Hashable, Sendable {
            /// TLS 1.2 (RFC 5246).
            case v1_2
            /// TLS 1.3 (RFC 8446).
            case v1_3
        }
    }
}
