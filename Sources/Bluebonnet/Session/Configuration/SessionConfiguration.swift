public import FoundationEssentials

extension Session {
    /// The settings of a session; you cannot change them after the session is created.
    public struct Configuration: Sendable {
        /// The URL against which relative URLs of requests are resolved (RFC 3986 §5.2); `nil` by default.
        ///
        /// With the base URL `https://api.example/v1/`, a request for `users/1` goes to
        /// `https://api.example/v1/users/1`, and a request for `/users/1` goes to `https://api.example/users/1`. A
        /// request for the text `""` goes to the base URL itself. The base URL may end with a slash or not; see
        /// ``baseURLReplacesLastSegment``. Absolute URLs are not changed. If the base URL is not an `http` or `https`
        /// URL, requests with relative URLs fail with `.invalidRequest(.configuration)`. Request modifiers and
        /// parameter encoders receive the relative URL, and adapters receive the absolute URL.
        ///
        /// The secrets of the session belong to the origin of the base URL. A request for another origin omits the
        /// fields with secrets, such as `Authorization`, that are in ``headers`` or that the session's interceptor
        /// adds. The fields of the request and of its own interceptor are sent.
        public var baseURL: URL? {
            get { urlDefaults.baseURL }
            set { urlDefaults.baseURL = newValue }
        }

        /// Whether the last segment of the base URL's path is replaced if it does not end with a slash, as RFC 3986
        /// §5.2 prescribes; `false` by default.
        ///
        /// With the base URL `https://api.example/v1`, a request for `users/1` goes to
        /// `https://api.example/v1/users/1`. If the property is `true`, it goes to `https://api.example/users/1`.
        public var baseURLReplacesLastSegment: Bool {
            get { urlDefaults.replacesLastSegment }
            set { urlDefaults.replacesLastSegment = newValue }
        }

        /// The query parameters that the session adds to its requests; none by default.
        ///
        /// If the query of a request already contains a parameter, the session does not add its own parameter of the
        /// same name. If you set a ``baseURL``, the session adds parameters only to requests for the origin of the base
        /// URL. The session does not add parameters to the URLs of redirects.
        public var defaultQueryItems: [URLQueryItem] {
            get { urlDefaults.query }
            set { urlDefaults.query = newValue }
        }

        /// The defaults that complete the URLs of requests.
        var urlDefaults = URLDefaults()

        /// The header fields that the session adds to its requests; ``HTTPHeaders/default`` by default.
        ///
        /// A field of a request replaces the session's field of the same name. The default `Accept-Encoding` field is
        /// not sent if ``decodesContent`` is `false`. Fields of the session with an empty value are not sent.
        public var headers: HTTPHeaders = .default

        /// The time limits for requests that do not set their own limits.
        ///
        /// By default, ``Timeouts/connect`` is 30 seconds and ``Timeouts/idle`` is 60 seconds. If the request body and
        /// the response body are both in memory, ``Timeouts/total`` is 10 minutes. Other requests, such as streams,
        /// downloads and uploads of files, have no total limit by default. ``Timeouts/queue`` and ``Timeouts/pool``
        /// have no limit by default.
        public var timeouts: Timeouts = .default

        /// The limits for the number and the lifetime of connections.
        public var connectionLimits = ConnectionLimits()

        /// The limits for the number of requests that run at the same time; none by default.
        public var requestLimits = RequestLimits()

        /// The decoder that converts response bodies to values; a `JSONDecoder` by default.
        ///
        /// Requests, streams of JSON and pages use this decoder, unless you pass another decoder to a method. If you
        /// set a decoder with strategies for keys and dates, these strategies apply to all values that the decoder
        /// creates.
        public var decoder: any DataDecoder = JSONDecoder()

        /// The encoder for parameters; ``URLEncodedFormParameterEncoder`` by default.
        ///
        /// An encoder that you pass to a method is used instead.
        ///
        /// A ``JSONParameterEncoder`` or ``PropertyListParameterEncoder`` writes a body. With these encoders, the
        /// parameters of GET and HEAD requests, which have no body, are written to the query by
        /// ``URLEncodedFormParameterEncoder``.
        public var parameterEncoder: any ParameterEncoder = .urlEncodedForm

        /// The speed limits for the bodies of all requests together; none by default.
        public var speedLimits = SpeedLimits()

        /// The preferred HTTP version; ``HTTPVersionPreference/automatic`` by default.
        public var httpVersion: HTTPVersionPreference = .automatic

        /// The proxy for connections; by default, the proxy from the environment variables (`http_proxy`, `no_proxy`,
        /// …).
        public var proxy: Proxy = .environment

        /// The path of a Unix domain socket for all connections; `nil`, the default, for network connections.
        ///
        /// The path must have at most 107 bytes. Proxies are not used with a Unix domain socket. The `Host` field and
        /// TLS use the host of the URL.
        public var unixSocketPath: String?

        /// The settings that override name lookup.
        public var dns = DNS()

        /// The network interface, such as `eth0`, or the local IP address for outgoing connections.
        ///
        /// With `nil`, the default, the system chooses the interface. If the interface does not exist, requests fail
        /// with `.connection(.interface)`.
        public var interface: String?

        /// The IP versions that connections use; both by default.
        public var addressFamily: AddressFamily = .any

        /// The time after which a connection with the second IP version is also tried (RFC 8305).
        ///
        /// The session first tries to connect with one IP version. If there is no connection after this time, the
        /// session tries both versions at the same time. The minimum is 1 millisecond. With `nil`, the default, the
        /// time is 200 milliseconds, as in libcurl. With libcurl before 8.16.0, this is also the time after which the
        /// next address of the same version is tried; its minimum is 10 milliseconds, and its default 250 milliseconds.
        public var happyEyeballsTimeout: Duration?

        /// The settings of TCP keep-alive probes; `nil`, the default, for no probes.
        public var keepAlive: KeepAlive?

        /// The storage for hosts that require TLS (HSTS); `.off` by default.
        public var hsts: HSTS = .off

        /// The storage for the alternative services of hosts; `.off` by default.
        public var altSvc: AltSvc = .off

        /// The TLS settings, such as trusted authorities and client certificates.
        public var tls = TLS()

        /// Whether the session requests and decodes compressed content; `true` by default.
        ///
        /// The session decodes `gzip` and `deflate`. It decodes `br` and `zstd` if the system has the libraries that
        /// libcurl uses for these codings. Requests fail with `.invalidResponse(.undecodableContent)` in these cases:
        ///
        /// - The content is not encoded as `Content-Encoding` states, or the content ends too early.
        /// - `Content-Encoding` lists more than five codings.
        /// - The zstd window is larger than 8 MiB (RFC 9659).
        public var decodesContent = true

        /// The maximum size of a response body in memory, in decoded bytes; 256 MiB by default, `nil` for no limit.
        ///
        /// A request fails with `.invalidResponse(.bodyTooLarge)` as soon as the body exceeds the limit. The limit
        /// protects the process from compression bombs and other large bodies.
        public var maximumResponseBytes: Int64? = 256 * 1024 * 1024

        /// The maximum size of a response head, in bytes; 256 KiB by default.
        ///
        /// A request with a larger response head fails with `.invalidResponse(.headTooLarge)`. Trailers do not count as
        /// part of the head, but they have a limit of the same size. Libcurl has its own limits, which this property
        /// cannot raise. Libcurl limits a field to 100 KiB. With HTTP/2, libcurl before 8.13.0 limits a head to 128
        /// KiB. Libcurl 8.3.0 and later, and Debian's 7.88.1, also limit all heads that arrive for one sent request to
        /// 300 KiB in total. These heads include heads with a 1xx status code. Libcurl 8.14.0 and later accept 5,000
        /// fields. With more of them, the error is the same, and its detail names the number.
        public var maximumResponseHeadBytes = 256 * 1024

        /// The size of libcurl's receive buffer for each running request, in bytes; 64 KiB by default.
        ///
        /// The size can be from 1 KiB to 512 KiB. With libcurl before 8.1.0, the minimum is 32 KiB.
        public var receiveBufferBytes = 64 * 1024

        /// The number of buffered bytes at which a streamed or downloaded body pauses; 1 MiB by default.
        ///
        /// While a body is paused, the session receives no more of its bytes. The buffer keeps the bytes of a stream
        /// until all readers have read them. The buffer keeps the bytes of a download until they are written to the
        /// file. With a small value, a fast transfer often pauses, which makes it slower. Bytes arrive in blocks, so
        /// the buffer can exceed this value by one block. The maximum size of a block is half of this value, limited to
        /// the range from 64 KiB to 512 KiB.
        ///
        /// A compressed body is decoded only while the buffer has room for the decoded bytes. With HTTP/2, libcurl 7.88
        /// can itself buffer up to 32 MiB more, because its flow-control window has this size.
        public var bodyHighWatermark = 1024 * 1024

        /// The number of buffered bytes at which a paused body continues; 256 KiB by default.
        public var bodyLowWatermark = 256 * 1024

        /// The time to wait for a "100 Continue" response before a large request body is sent; 1 second by default.
        ///
        /// During this time, the server can refuse the request before the body is sent (RFC 9110 §10.1.1). Only
        /// HTTP/1.1 requests wait, and only if the body has more than 1 MiB or an unknown length. With `nil`, requests
        /// do not wait for "100 Continue".
        public var continueTimeout: Duration? = .seconds(1)

        /// The event loop on which the session runs; with `nil`, the default, the session creates its own event loop.
        ///
        /// Sessions with the same event loop share one thread. If ``eventLoops`` is greater than 1, this is the first
        /// of the event loops, and the session creates the others.
        public var eventLoop: EventLoop?

        /// The number of event loops on which the session runs, each with a thread of its own; 1 by default.
        ///
        /// One event loop uses one core. Several event loops are useful for a program that makes tens of thousands of
        /// requests per second, or transfers more than a core can encrypt. A request runs on a loop with an idle
        /// connection to its host, or on the loop with the least work. Each loop has its own connections, TLS sessions
        /// and results of name lookups. The loops share cookies, HSTS hosts and the results of trust evaluations.
        ///
        /// ``requestLimits`` apply to all loops together. ``connectionLimits`` are divided among the loops, so that all
        /// loops together never exceed a limit. The number of loops for the requests to one host must divide
        /// ``ConnectionLimits/perHost`` evenly. For example, these requests use two of three loops if the limit is 4.
        /// If the connection limits are too low for the requested number of event loops, the session uses fewer event
        /// loops. If there are ``speedLimits``, the session uses only one event loop.
        public var eventLoops: EventLoopCount = 1

        /// The cookie settings; by default, the session stores and sends the cookies of all hosts.
        public var cookies = Cookies()

        /// The cache for responses; `nil`, the default, for no cache.
        ///
        /// There is no cache by default, because a session may send the requests of several users. Several sessions can
        /// share a cache.
        public var cache: ResponseCache?

        /// The cache policy for requests that do not set their own policy.
        ///
        /// The default is ``HTTPRequest/CachePolicy/useProtocolCachePolicy``.
        public var cachePolicy: HTTPRequest.CachePolicy = .useProtocolCachePolicy

        /// The limits for redirects, which redirect handlers cannot override.
        public var redirects = RedirectLimits()

        /// Waits between the attempts of a request, and ends early if its task is cancelled; tests replace the
        /// function.
        package var sleep: @Sendable (Duration) async throws -> Void = { try await ContinuousClock().sleep(for: $0) }

        /// Waits as long as a body that is not needed may take; tests replace the function.
        ///
        /// The function ends early if its task is cancelled. Two kinds of body are not needed. The body of a redirect
        /// is read only so that its connection can be reused. If validation refuses the head of a response, the body is
        /// read only for the error. The default time is 300 milliseconds, which is about the time that a new connection
        /// takes.
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
    /// The default header fields, including the fields that libcurl adds.
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
        /// If there are more redirects, the request fails with `.redirect(.tooMany)`.
        public var maximum = 20

        /// Whether a redirect from `https` to `http` is allowed; `false` by default.
        ///
        /// With `false`, a request that is redirected from `https` to `http` fails with `.redirect(.insecure)`.
        public var allowsInsecure = false

        /// Creates the default limits.
        public init() {}
    }
}
