public import Bluebonnet
import Foundation
public import FoundationNetworking

extension Session.Configuration {
    /// Creates a configuration from a `URLSessionConfiguration`.
    ///
    /// These properties are converted:
    ///
    /// - `httpAdditionalHeaders`: These fields replace Bluebonnet's default fields with the same names.
    /// - `timeoutIntervalForRequest`: The connect timeout and the idle timeout. A value of zero or less, or of ten
    ///   years or more, means no timeout.
    /// - `timeoutIntervalForResource`: The total timeout. Each retry and each redirect has its own total timeout. A
    ///   value of zero or less, or of ten years or more, means no timeout.
    /// - `httpMaximumConnectionsPerHost`: The maximum number of connections to a host. A value of zero or less is
    ///   ignored.
    /// - `httpCookieAcceptPolicy`: The cookie policy. If `httpShouldSetCookies` is `false` or `httpCookieStorage` is
    ///   `nil`, the session does not store or send cookies. The session does not use the cookies in the storage. Copy
    ///   them to the session's `cookies` instead.
    /// - `connectionProxyDictionary`: The proxy, with the `ExceptionsList`, the user name and the password of the
    ///   dictionary. `nil` selects the proxy in the environment variables, and an empty dictionary selects no proxy. A
    ///   session has only one proxy. If the dictionary contains several proxies, the HTTPS proxy has precedence over
    ///   the HTTP proxy, and the HTTP proxy over the SOCKS proxy.
    /// - `requestCachePolicy`: The `cachePolicy`. The policy `reloadIgnoringLocalAndRemoteCacheData` also adds the
    ///   header fields `Cache-Control: no-cache` and `Pragma: no-cache`.
    /// - `urlCache`: A `ResponseCache` in memory with the same `memoryCapacity`, if the capacity is above zero. The
    ///   session does not use the contents of the `URLCache`. `URLCache.shared`, the cache of the default
    ///   configuration, is ignored. To store responses in files, set `cache`.
    ///
    /// These properties are ignored:
    ///
    /// - `identifier`: Bluebonnet has no background sessions.
    /// - `protocolClasses`: Use the `transport` of a session to replace the network.
    /// - `waitsForConnectivity`: Use an `OfflineRetrier` to wait for a network.
    /// - `allowsCellularAccess`, `httpShouldUsePipelining`, `isDiscretionary`, `multipathServiceType`,
    ///   `networkServiceType`, `sessionSendsLaunchEvents`, `sharedContainerIdentifier`,
    ///   `shouldUseExtendedBackgroundIdleMode`, `urlCredentialStorage` and `usesClassicLoadingMode`.
    ///
    /// On Linux, a `URLSessionConfiguration` has no TLS versions. Set `tls` instead.
    ///
    /// - Parameter urlSessionConfiguration: The configuration to convert. Later changes to it have no effect.
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
    ///   - configuration: The configuration. `Session.Configuration.init(_:)` describes the conversion.
    ///   - interceptor: An interceptor that adapts and retries all requests; none by default.
    ///   - serverTrustManager: The manager that assigns trust evaluators to hosts; none by default.
    ///   - redirectHandler: The handler that decides about redirects, for requests without their own handler; none by
    ///     default.
    ///   - cachedResponseHandler: The handler that decides whether responses are cached, for requests without their own
    ///     handler; none by default.
    ///   - startRequestsImmediately: Whether a request starts when its first serializer is attached or its first reader
    ///     begins; `true` by default. With `false`, a request starts when you call `resume()`.
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
    /// Configurations that have Bluebonnet's default header fields: `URLSessionConfiguration.af.default` and
    /// `URLSessionConfiguration.af.ephemeral`.
    public static var af: DefaultConfigurations { DefaultConfigurations() }

    /// The value of `httpAdditionalHeaders` as `HTTPHeaders`, sorted by name.
    ///
    /// These fields are sent with every request. A field of a request replaces the field of this
    /// configuration with the same name.
    public var headers: HTTPHeaders {
        get {
            let pairs = (httpAdditionalHeaders ?? [:]).compactMap { name, value in
                (name as? String).map { ($0, "\(value)") }
            }
            return HTTPHeaders(Dictionary(pairs) { first, _ in first })
        }
        set { httpAdditionalHeaders = newValue.dictionary }
    }

    /// Creates configurations with the fields `Accept-Encoding`, `Accept-Language` and `User-Agent`.
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
    /// Creates the proxy from a dictionary with CFNetwork's keys.
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
        // IPv6 addresses in the dictionary have no brackets.
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        let port = (dictionary["\(prefix)Port"] as? NSNumber)?.intValue
        return "\(scheme)://\(name)\(port.map { ":\($0)" } ?? "")"
    }
}
