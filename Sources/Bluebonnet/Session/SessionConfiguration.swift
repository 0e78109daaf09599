extension Session {
    /// Says how a session's requests are made; a value, read once when the session is created.
    public struct Configuration: Sendable {
        /// The fields that every request has unless it sets them itself: those of ``HTTPHeaders/default``.
        ///
        /// `Accept-Encoding` goes with ``decodesContent``: the default one is left out when that is `false`. A field with
        /// an empty value is not sent at all.
        public var headers: HTTPHeaders = .default

        /// The default time limits of requests: connect 30 s, idle 60 s, total not set.
        public var timeouts: Timeouts = .default

        /// How many connections there may be, and for how long unused ones are kept.
        public var connectionLimits = ConnectionLimits()

        /// The version of HTTP to speak; HTTP/2 where TLS offers it by default, HTTP/1.1 elsewhere.
        public var httpVersion: HTTPVersionPreference = .automatic

        /// The proxy for connections; by default, the proxy of the environment variables (`http_proxy`, `no_proxy`, …).
        public var proxy: Proxy = .environment

        /// The path of a unix socket to connect to, whatever host a request is for; `nil`, the default, for the network.
        ///
        /// No proxy is used then. The host still goes into the `Host` field, and into TLS.
        public var unixSocketPath: String?

        /// Where connections lead in place of what name lookup would say.
        public var dns = DNS()

        /// The network interface that connections leave by, such as `eth0`, or the address of this end of them; `nil`,
        /// the default, for the system's choice.
        ///
        /// A missing interface fails requests with `.connection(.interface)`.
        public var interface: String?

        /// The versions of IP that connections use; both by default.
        public var addressFamily: AddressFamily = .any

        /// How long one version of IP has for connecting before the other is tried beside it (RFC 8305); `nil`, the
        /// default, for libcurl's 200 ms.
        public var happyEyeballsTimeout: Duration?

        /// When TCP asks whether a silent peer is still there; `nil`, the default, for never.
        public var keepAlive: KeepAlive?

        /// Whether hosts are remembered that want to be spoken to over TLS only; `.off` by default.
        public var hsts: HSTS = .off

        /// Whether the alternative services that hosts name are used; `.off` by default.
        public var altSvc: AltSvc = .off

        /// How servers are authenticated and what TLS may be spoken.
        public var tls = TLS()

        /// Whether to ask for compressed content, and decode it (gzip, deflate, br, zstd); `true` by default.
        ///
        /// `br` and `zstd` are decoded where the system has their libraries, which libcurl uses, too. Content that is not
        /// coded as its `Content-Encoding` says, or ends too early, fails with `.invalidResponse(.undecodableContent)`; so
        /// does content with more than five codings, and zstd with a window of more than 8 MiB (RFC 9659).
        public var decodesContent = true

        /// The largest body that is collected in memory, in bytes after decoding; 256 MiB by default, `nil` for no limit.
        ///
        /// A response that is larger fails with `.invalidResponse(.bodyTooLarge)` as soon as the limit is passed, so
        /// that neither a mistake nor a compression bomb takes the machine.
        public var maximumResponseBytes: Int64? = 256 * 1024 * 1024

        /// The largest head of a response, in bytes; 256 KiB by default.
        ///
        /// A larger one fails with `.invalidResponse(.headTooLarge)`. Trailers have the same
        /// limit, apart from the head. Libcurl has limits that this cannot raise: 100 KiB for a field, 300 KiB for all heads
        /// of an exchange (8.3.0 and later, and Debian's 7.88.1).
        public var maximumResponseHeadBytes = 256 * 1024

        /// The size of the buffer that receives from a connection, in bytes; 64 KiB by default.
        ///
        /// Libcurl takes 1 KiB to 512 KiB; with one before 8.1.0, it has at least 32 KiB. Each exchange in flight has such a buffer.
        public var receiveBufferBytes = 64 * 1024

        /// How many bytes of a body may wait for a stream's readers, or for a download's file, before nothing more is read
        /// from the network.
        ///
        /// 1 MiB by default: less makes a fast network wait until its reader's thread has woken up. The transfer is
        /// paused once so many bytes wait, and the piece that is being received then, of half as many (64 KiB to 512
        /// KiB), comes on top. A body is decoded only while there is room for the decoded bytes. One that comes by
        /// HTTP/2 may have up to 32 MiB more waiting, which is the window of libcurl 7.88.
        public var bodyHighWatermark = 1024 * 1024

        /// At how many waiting bytes or fewer a paused body is read again; 256 KiB by default.
        public var bodyLowWatermark = 256 * 1024

        /// How long a large request body waits for the server to say "100 Continue" (RFC 9110 §10.1.1) before it is sent
        /// all the same; 1 second by default.
        ///
        /// Bodies of more than 1 MiB, or of unknown length, are announced so over HTTP/1.1, which lets a server refuse
        /// them before they are sent. `nil` announces none.
        public var continueTimeout: Duration? = .seconds(1)

        /// The loop that the session runs on, to share a thread with other sessions; one of its own when `nil`.
        public var eventLoop: EventLoop?

        /// Which cookies are kept, and sent back; those of every host by default.
        public var cookies = Cookies()

        /// Where responses are kept to answer requests with; `nil`, the default, for nowhere.
        ///
        /// Nothing is kept unless it is asked for: a program may act for many users. Sessions may share a cache.
        public var cache: ResponseCache?

        /// What the ``cache`` may do for requests that do not say; ``HTTPRequest/CachePolicy/useProtocolCachePolicy`` by
        /// default.
        public var cachePolicy: HTTPRequest.CachePolicy = .useProtocolCachePolicy

        /// When redirects are followed, whatever the redirect handlers say.
        public var redirects = RedirectLimits()

        /// Lets time pass between the attempts of a request, and ends early when its task is cancelled; for tests.
        package var sleep: @Sendable (Duration) async throws -> Void = { try await ContinuousClock().sleep(for: $0) }

        /// Returns when a body that is of little use has had its time, or when its task is cancelled; for tests.
        ///
        /// It is that of a redirect, read for the sake of its connection, and that of a response that was refused by its
        /// head, read for the error to show: about as long as a new connection takes.
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
    /// The fields that a request has unless it sets them itself, with what libcurl adds.
    var effectiveHeaders: HTTPHeaders {
        guard decodesContent else { return HTTPHeaders(headers.filter { $0 != .defaultAcceptEncoding }) }
        guard !headers.contains("Accept-Encoding") else { return headers }
        return HTTPHeaders([.defaultAcceptEncoding] + Array(headers))
    }
}

extension Session.Configuration {
    /// Says when redirects are followed, whatever the redirect handlers say.
    public struct RedirectLimits: Hashable, Sendable {
        /// How many redirects one request may follow; 20 by default, as in the Fetch standard.
        ///
        /// One more ends it with `.redirect(.tooMany)`.
        public var maximum = 20

        /// Whether a redirect may lead from `https` to `http`; `false` by default, which ends the request with
        /// `.redirect(.insecure)`.
        public var allowsInsecure = false

        /// Creates the default limits.
        public init() {}
    }
}
