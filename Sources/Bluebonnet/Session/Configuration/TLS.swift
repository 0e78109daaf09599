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

        /// With what the client shows who it is to servers that ask; `nil`, the default, for nothing.
        public var clientIdentity: ClientIdentity?

        /// A file of PEM certificates to trust instead of the system's; `nil` by default.
        public var caFile: String?

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
