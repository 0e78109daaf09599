public import Bluebonnet
import Foundation
public import FoundationNetworking

extension Session.Configuration {
    /// Creates a configuration from a `URLSessionConfiguration`.
    ///
    /// These properties are used:
    ///
    /// - `httpAdditionalHeaders`: they replace Bluebonnet's default fields of the same name.
    /// - `timeoutIntervalForRequest`: limits connecting and idle time. A value that is not above zero, or that is ten
    ///   years or more, sets no limit.
    /// - `timeoutIntervalForResource`: limits the exchange as a whole, with the same rule.
    /// - `httpMaximumConnectionsPerHost`: used if it is above zero.
    /// - `httpCookieAcceptPolicy`: becomes the cookie policy. No cookies are stored or sent if `httpShouldSetCookies`
    ///   is `false` or if there is no `httpCookieStorage`. The storage itself is neither read nor written; put its
    ///   cookies into the session's `cookies` instead.
    /// - `connectionProxyDictionary`: `nil` stands for the environment's proxy, and an empty dictionary for no proxy. A
    ///   session has one proxy: the HTTPS proxy if it is enabled, otherwise the HTTP proxy, otherwise the SOCKS proxy.
    ///   The dictionary's `ExceptionsList`, user name and password apply to it.
    /// - `requestCachePolicy`: becomes the `cachePolicy`. Header fields that the policy requires are added.
    /// - `urlCache`: becomes a `ResponseCache` in memory with its `memoryCapacity`, if that is above zero.
    ///   `URLCache.shared`, which the default configuration has, is ignored; an ephemeral configuration has its own
    ///   cache. The contents of the `URLCache` are neither read nor written. Foundation does not reveal the cache's
    ///   directory, so set `cache` to store responses in files.
    ///
    /// These properties are ignored:
    ///
    /// - `identifier`: nothing continues after the process has ended.
    /// - `protocolClasses`: use a session's `transport` to answer requests instead of the network.
    /// - `waitsForConnectivity`: use an `OfflineRetrier` to wait for a connection.
    /// - `allowsCellularAccess`, `httpShouldUsePipelining`, `isDiscretionary`, `multipathServiceType`,
    ///   `networkServiceType`, `sessionSendsLaunchEvents`, `sharedContainerIdentifier`,
    ///   `shouldUseExtendedBackgroundIdleMode`, `urlCredentialStorage` and `usesClassicLoadingMode`.
    ///
    /// On Linux, Foundation's configuration has no TLS versions; set `tls` instead.
    ///
    /// - Parameter urlSessionConfiguration: The configuration to convert. It is read now; later changes have no effect.
    public init(_ urlSessionConfiguration: URLSessionConfiguration) {
        self.init()
        let source = urlSessionConfiguration
        for header in source.headers { headers.update(header) }
        for directive in source.requestCachePolicy.directives where !headers.contains(directive.name) {
            headers.append(directive)
        }
        timeouts = Timeouts(
            connect: source.timeoutIntervalForRequest.duration, idle: source.timeoutIntervalForRequest.duration,
            total: source.timeoutIntervalForResource.duration)
        if source.httpMaximumConnectionsPerHost > 0 {
            connectionLimits.perHost = source.httpMaximumConnectionsPerHost
        }
        cachePolicy = source.requestCachePolicy.native ?? .useProtocolCachePolicy
        if let urlCache = source.urlCache, urlCache !== URLCache.shared, urlCache.memoryCapacity > 0 {
            cache = ResponseCache(memoryCapacity: urlCache.memoryCapacity)
        }
        cookies.policy = Cookies.Policy(source)
        proxy = source.connectionProxyDictionary.map { Proxy(proxyDictionary: $0) } ?? .environment
    }
}

extension Session.Configuration.Cookies.Policy {
    fileprivate init(_ source: URLSessionConfiguration) {
        guard source.httpShouldSetCookies, source.httpCookieStorage != nil else {
            self = .never
            return
        }
        self =
            switch source.httpCookieAcceptPolicy {
            case .always: .always
            case .onlyFromMainDocumentDomain: .firstPartyOnly
            case .never: .never
            @unknown default: .never
            }
    }
}

extension Session {
    /// Creates a session from a `URLSessionConfiguration`.
    ///
    /// - Parameters:
    ///   - configuration: The configuration, which is converted once, as `Session.Configuration.init(_:)` describes.
    ///   - interceptor: An interceptor that adapts and retries all requests; none by default.
    ///   - serverTrustManager: The evaluators for the servers' certificates; none by default.
    ///   - redirectHandler: The handler for redirects of requests without their own handler; none by default.
    ///   - cachedResponseHandler: The handler that decides what is cached, for requests without their own handler; none
    ///     by default.
    ///   - startRequestsImmediately: Whether a request starts when its first serializer, task or stream is attached;
    ///     `true` by default.
    @_disfavoredOverload  // `.default` means Bluebonnet's configuration
    public init(
        configuration: URLSessionConfiguration, interceptor: (any RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil, redirectHandler: (any RedirectHandler)? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil,
        startRequestsImmediately: Bool = true
    ) {
        self.init(
            configuration: Configuration(configuration), interceptor: interceptor,
            serverTrustManager: serverTrustManager, redirectHandler: redirectHandler,
            cachedResponseHandler: cachedResponseHandler, startRequestsImmediately: startRequestsImmediately)
    }
}

extension URLSessionConfiguration {
    /// New configurations with Bluebonnet's default header fields.
    public static var af: DefaultConfigurations { DefaultConfigurations() }

    /// The default header fields of all requests: `httpAdditionalHeaders` as `HTTPHeaders`, sorted by name.
    ///
    /// A request's own field replaces the default field of the same name.
    public var headers: HTTPHeaders {
        get {
            let pairs = (httpAdditionalHeaders ?? [:]).compactMap { name, value in
                (name as? String).map { ($0, "\(value)") }
            }
            return HTTPHeaders(Dictionary(pairs) { first, _ in first })
        }
        set { httpAdditionalHeaders = newValue.dictionary }
    }

    /// Creates `URLSessionConfiguration`s with the fields `Accept-Encoding`, `Accept-Language` and `User-Agent`.
    public struct DefaultConfigurations: Sendable {
        /// A new default configuration.
        public var `default`: URLSessionConfiguration { withDefaultHeaders(.default) }

        /// A new configuration that stores nothing on disk.
        public var ephemeral: URLSessionConfiguration { withDefaultHeaders(.ephemeral) }

        private func withDefaultHeaders(_ configuration: URLSessionConfiguration) -> URLSessionConfiguration {
            configuration.headers = .default
            return configuration
        }
    }
}

extension Session.Configuration.Proxy {
    /// The proxy in a dictionary with CFNetwork's keys.
    init(proxyDictionary dictionary: [AnyHashable: Any]) {
        let kinds = [("HTTPS", "http"), ("HTTP", "http"), ("SOCKS", "socks5h")]
        let found = kinds.lazy.compactMap { Self.url(dictionary, prefix: $0, scheme: $1) }.first
        guard let found else {
            self = .none
            return
        }
        let username = dictionary["kCFProxyUsernameKey"] as? String
        let password = dictionary["kCFProxyPasswordKey"] as? String
        let credential = username.map { Credential(username: $0, password: password ?? "") }
        self = .url(found, credential: credential, excluding: dictionary["ExceptionsList"] as? [String] ?? [])
    }

    private static func url(_ dictionary: [AnyHashable: Any], prefix: String, scheme: String) -> String? {
        // Foundation also bridges Booleans and integers to `NSNumber`.
        let isOn = (dictionary["\(prefix)Enable"] as? NSNumber)?.boolValue ?? false
        guard isOn, let host = dictionary["\(prefix)Proxy"] as? String, !host.isEmpty else { return nil }
        // The dictionary has IPv6 addresses without brackets.
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        let port = (dictionary["\(prefix)Port"] as? NSNumber)?.intValue
        return "\(scheme)://\(name)\(port.map { ":\($0)" } ?? "")"
    }
}
