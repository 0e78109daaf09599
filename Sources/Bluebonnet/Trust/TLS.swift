extension Session.Configuration {
    /// The TLS settings of a session.
    public struct TLS: Hashable, Sendable {
        /// The minimum TLS version; TLS 1.2 by default.
        public var minimumVersion: Version = .v1_2

        /// The maximum TLS version; `nil`, the default, for the highest version that OpenSSL supports.
        public var maximumVersion: Version?

        /// The ciphers for TLS 1.2, in order of preference; empty, the default, for OpenSSL's default ciphers.
        ///
        /// Use OpenSSL's names, such as `ECDHE-ECDSA-AES256-GCM-SHA384`. Other elements of an `openssl ciphers` list,
        /// such as `HIGH` or `!aNULL`, are also allowed. If OpenSSL does not know a name, every request fails with
        /// `.invalidRequest(.configuration)`.
        public var ciphers: [String] = []

        /// The cipher suites for TLS 1.3, such as `TLS_AES_256_GCM_SHA384`, in order of preference; empty, the default,
        /// for OpenSSL's default suites.
        ///
        /// If OpenSSL does not know a name, every request fails with `.invalidRequest(.configuration)`.
        public var cipherSuites: [String] = []

        /// The client certificate for servers that request a certificate; `nil` by default.
        ///
        /// Hosts in ``clientIdentities`` receive the certificate of their entry instead. Use this property only if
        /// every server that requests a certificate may receive it.
        public var clientIdentity: ClientIdentity?

        /// The client certificates by host name without a port; empty by default.
        ///
        /// A key can begin with the wildcard `*.`, which matches exactly one label. An entry for the host itself takes
        /// precedence over a wildcard, as with ``ServerTrustManager``. A redirect to another host uses the entry for
        /// the new host. Every request fails with `.invalidRequest(.configuration)` in two cases: a key is not a valid
        /// host, or two keys are the same host.
        public var clientIdentities: [String: ClientIdentity] = [:]

        /// The client certificate for an HTTPS proxy that requests a certificate; `nil` by default.
        ///
        /// Servers never receive this certificate. Proxies never receive the certificates for servers.
        public var proxyClientIdentity: ClientIdentity?

        /// The path of a PEM file with certificate authorities, which replace the system's authorities; `nil` by
        /// default.
        ///
        /// The authorities also apply to HTTPS proxies. The session reads the file when a connection first needs the
        /// authorities, and again after the file has changed. If the file cannot be read or contains no certificate,
        /// requests that need a TLS connection fail with `.trust(.configuration)`.
        public var caFile: String?

        /// The path of a directory with certificate authorities, which replace the system's authorities; `nil` by
        /// default.
        ///
        /// The authorities are added to the authorities of ``caFile``. The directory is read as in
        /// ``Certificate/all(inDirectory:)``, including files with the names that `openssl rehash` creates. The
        /// directory is read again after one of its files was changed, added or removed. If the directory cannot be
        /// read or contains no certificate, requests that need a TLS connection fail with `.trust(.configuration)`.
        public var caDirectory: String?

        /// The certificate authorities, which replace the system's authorities; `nil` by default.
        ///
        /// The authorities are added to the authorities of ``caFile`` and ``caDirectory``. With an empty array,
        /// requests that need a TLS connection fail with `.trust(.configuration)`.
        public var caCertificates: [Certificate]?

        /// Whether the system's authorities are trusted in addition to the configured authorities; `false` by default.
        ///
        /// If ``caFile``, ``caDirectory`` and ``caCertificates`` are all `nil`, the system's authorities are always
        /// trusted.
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
