extension Session {
    /// The settings of a session, which are read once when the session is created.
    public struct Configuration: Sendable {
        /// The header fields of every request that does not set them itself; ``HTTPHeaders/default`` by default.
        ///
        /// The default `Accept-Encoding` field is left out if ``decodesContent`` is `false`. A field with an empty
        /// value is not sent at all.
        public var headers: HTTPHeaders = .default

        /// The timeouts that requests do not set themselves.
        ///
        /// The defaults are 30 seconds to connect, 60 seconds idle, and 10 minutes in total for an exchange whose
        /// bodies are both in memory. Other exchanges have no total timeout by default, and the wait for a connection
        /// has no timeout of its own.
        public var timeouts: Timeouts = .default

        /// The limits for the number and the lifetime of connections.
        public var connectionLimits = ConnectionLimits()

        /// The HTTP version to use; by default, HTTP/2 if TLS negotiates it, and HTTP/1.1 otherwise.
        public var httpVersion: HTTPVersionPreference = .automatic

        /// The proxy for connections; by default, the proxy in the environment variables (`http_proxy`, `no_proxy`, …).
        public var proxy: Proxy = .environment

        /// The path of a Unix socket that replaces the network for all hosts; `nil` by default.
        ///
        /// The path has at most 107 bytes. No proxy is used with a Unix socket. The `Host` field and TLS still use the
        /// host of the URL.
        public var unixSocketPath: String?

        /// Settings that override name lookup, for all or some hosts.
        public var dns = DNS()

        /// The network interface, such as `eth0`, or the local IP address for outgoing connections.
        ///
        /// With `nil`, the default, the system chooses. If the interface does not exist, requests fail with
        /// `.connection(.interface)`.
        public var interface: String?

        /// The IP versions that connections use; both by default.
        public var addressFamily: AddressFamily = .any

        /// The head start of one IP version before the other is tried as well (RFC 8305).
        ///
        /// The minimum is 1 millisecond. With `nil`, the default, it is libcurl's 200 milliseconds.
        public var happyEyeballsTimeout: Duration?

        /// The settings of TCP keep-alive probes; `nil`, the default, for no probes.
        public var keepAlive: KeepAlive?

        /// The storage for hosts that require TLS (HSTS); `.off` by default.
        public var hsts: HSTS = .off

        /// The storage for the alternative services of hosts; `.off` by default, which ignores them.
        public var altSvc: AltSvc = .off

        /// The TLS settings, such as trusted authorities and client certificates.
        public var tls = TLS()

        /// Whether to request compressed content and decode it (gzip, deflate, br, zstd); `true` by default.
        ///
        /// `br` and `zstd` are only decoded if the system has the libraries that libcurl uses for them. Requests fail
        /// with `.invalidResponse(.undecodableContent)` in these cases:
        ///
        /// - The content does not match its `Content-Encoding`, or ends too early.
        /// - The content has more than five codings.
        /// - The zstd window is larger than 8 MiB (RFC 9659).
        public var decodesContent = true

        /// The maximum size of a body that is collected in memory, in decoded bytes; 256 MiB by default, `nil` for no
        /// limit.
        ///
        /// A larger response fails with `.invalidResponse(.bodyTooLarge)` as soon as it exceeds the limit. This
        /// prevents a mistake or a compression bomb from exhausting the memory.
        public var maximumResponseBytes: Int64? = 256 * 1024 * 1024

        /// The maximum size of a response head, in bytes; 256 KiB by default.
        ///
        /// A larger head fails with `.invalidResponse(.headTooLarge)`. The limit applies separately to trailers.
        /// Libcurl has its own limits, which this cannot raise: 100 KiB for a field, and 300 KiB for all heads of an
        /// exchange. The second limit exists in libcurl 8.3.0 and later, and in Debian's 7.88.1.
        public var maximumResponseHeadBytes = 256 * 1024

        /// The size of a receive buffer, in bytes; 64 KiB by default.
        ///
        /// Each running exchange has such a buffer. Libcurl accepts 1 KiB to 512 KiB; before version 8.1.0, the minimum
        /// is 32 KiB.
        public var receiveBufferBytes = 64 * 1024

        /// The number of waiting bytes at which a streamed or downloaded body is paused; 1 MiB by default.
        ///
        /// Bytes wait until a stream's readers have read them, or until they are written to a download's file. A
        /// smaller value makes a fast network wait for the reader's thread to wake up. The piece that is being received
        /// when the transfer pauses is added to the waiting bytes. A piece has at most half as many bytes, with a
        /// minimum of 64 KiB and a maximum of 512 KiB.
        ///
        /// A body is decoded only while there is room for the decoded bytes. With HTTP/2, up to 32 MiB more may wait,
        /// which is the window size of libcurl 7.88.
        public var bodyHighWatermark = 1024 * 1024

        /// The number of waiting bytes at which a paused body is resumed; 256 KiB by default.
        public var bodyLowWatermark = 256 * 1024

        /// The time to wait for the server's "100 Continue" (RFC 9110 §10.1.1) before a large request body is sent
        /// anyway.
        ///
        /// It is 1 second by default. It applies over HTTP/1.1 to bodies of more than 1 MiB or of unknown length. The
        /// wait lets a server refuse them before they are sent. With `nil`, no request waits for "100 Continue".
        public var continueTimeout: Duration? = .seconds(1)

        /// The event loop of the session, if several sessions are to share a thread; `nil`, the default, for its own
        /// loop.
        public var eventLoop: EventLoop?

        /// The cookie settings; by default, the cookies of all hosts are stored and sent back.
        public var cookies = Cookies()

        /// The cache for responses; `nil`, the default, for no cache.
        ///
        /// Caching is off by default because a program may act for many users. Several sessions may share a cache.
        public var cache: ResponseCache?

        /// The way in which requests use the ``cache``, unless they set their own policy.
        ///
        /// The default is ``HTTPRequest/CachePolicy/useProtocolCachePolicy``.
        public var cachePolicy: HTTPRequest.CachePolicy = .useProtocolCachePolicy

        /// The limits for redirects, which redirect handlers cannot override.
        public var redirects = RedirectLimits()

        /// Waits between the attempts of a request, and ends early if its task is cancelled; tests replace it.
        package var sleep: @Sendable (Duration) async throws -> Void = { try await ContinuousClock().sleep(for: $0) }

        /// Returns when an unneeded body has taken too long, or when its task is cancelled; tests replace it.
        ///
        /// Two kinds of body are not needed. The body of a redirect is read so that its connection can be reused. The
        /// body of a response whose head was refused is read for the error. The default, 300 milliseconds, is about the
        /// time that a new connection takes.
        package var bodyGracePeriod: @Sendable () async throws -> Void = {
            try await ContinuousClock().sleep(for: .milliseconds(300))
        }

        /// Creates the default configuration.
        public init() {}

        /// The default configuration.
        public static var `default`: Configuration { Configuration() }
    }
}

extension Session.Configuration {
    /// The default header fields, including those that libcurl adds.
    var effectiveHeaders: HTTPHeaders {
        guard decodesContent else { return HTTPHeaders(headers.filter { $0 != .defaultAcceptEncoding }) }
        guard !headers.contains("Accept-Encoding") else { return headers }
        return HTTPHeaders([.defaultAcceptEncoding] + Array(headers))
    }
}

extension Session.Configuration {
    /// The limits for redirects, which redirect handlers cannot override.
    public struct RedirectLimits: Hashable, Sendable {
        /// The maximum number of redirects for one request; 20 by default, as in the Fetch standard.
        ///
        /// One more redirect fails the request with `.redirect(.tooMany)`.
        public var maximum = 20

        /// Whether a redirect from `https` to `http` is allowed; `false` by default.
        ///
        /// If it is not allowed, such a redirect fails the request with `.redirect(.insecure)`.
        public var allowsInsecure = false

        /// Creates the default limits.
        public init() {}
    }
}
