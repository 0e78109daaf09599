extension Session.Configuration {
    /// The TLS settings of a session.
    public struct TLS: Hashable, Sendable {
        /// The lowest TLS version to accept; TLS 1.2 by default.
        public var minimumVersion: Version = .v1_2

        /// The highest TLS version to use; `nil`, the default, for the highest version that OpenSSL supports.
        public var maximumVersion: Version?

        /// The ciphers for TLS 1.2, in order of preference; empty, the default, for OpenSSL's choice.
        ///
        /// Use OpenSSL's names, such as `ECDHE-ECDSA-AES256-GCM-SHA384`. Other elements of an `openssl ciphers` list
        /// are allowed as well, such as `HIGH` or `!aNULL`. If OpenSSL does not know a name, every request fails with
        /// `.invalidRequest(.configuration)`.
        public var ciphers: [String] = []

        /// The cipher suites for TLS 1.3, such as `TLS_AES_256_GCM_SHA384`, in order of preference; empty, the default,
        /// for OpenSSL's choice.
        ///
        /// If OpenSSL does not know a name, every request fails with `.invalidRequest(.configuration)`.
        public var cipherSuites: [String] = []

        /// The client certificate for servers that request one; `nil`, the default, for none.
        ///
        /// Hosts in ``clientIdentities`` receive their own certificate instead.
        public var clientIdentity: ClientIdentity?

        /// The client certificates for some hosts, by host name without a port; empty by default.
        ///
        /// `*.` stands for exactly one label. An entry for the host itself takes precedence over a wildcard, as with
        /// ``ServerTrustManager``. Each request, and each redirect, uses the entry for its own host; no other host
        /// receives that certificate. If a key is not a valid host, or if two keys are the same host, every request
        /// fails with `.invalidRequest(.configuration)`.
        public var clientIdentities: [String: ClientIdentity] = [:]

        /// The client certificate for an HTTPS proxy that requests one; `nil`, the default, for none.
        ///
        /// Servers never receive this certificate, and a proxy never receives those of servers.
        public var proxyClientIdentity: ClientIdentity?

        /// A PEM file with the certificate authorities to trust instead of the system's; `nil` by default.
        ///
        /// These authorities also apply to HTTPS proxies. Files and directories are read when a connection first needs
        /// them. They are read again after a file has changed, or after a file was added to or removed from the
        /// directory. If one cannot be read, or contains no certificate, requests that need a connection fail with
        /// `.trust(.configuration)`.
        public var caFile: String?

        /// A directory with the certificate authorities to trust instead of the system's, in addition to those of
        /// ``caFile``; `nil` by default.
        ///
        /// The directory is read as by ``Certificate/all(inDirectory:)``. In addition, files are used whose names are
        /// the hash of a subject, as `openssl rehash` names them.
        public var caDirectory: String?

        /// The certificate authorities to trust instead of the system's, in addition to those of ``caFile`` and
        /// ``caDirectory``; `nil` by default.
        ///
        /// An empty array does not stand for the system's authorities: it fails every connection with
        /// `.trust(.configuration)`.
        public var caCertificates: [Certificate]?

        /// Whether the system's authorities are trusted in addition to those of ``caFile``, ``caDirectory`` and
        /// ``caCertificates``; `false` by default.
        ///
        /// If all three are `nil`, the system's authorities are trusted in any case.
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
