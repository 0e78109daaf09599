public import Bluebonnet
import Foundation
public import FoundationNetworking

extension Session.Configuration {
    /// Creates a configuration from one of `URLSession`.
    ///
    /// Taken over are:
    ///
    /// - `httpAdditionalHeaders`, in place of those of Bluebonnet's default fields that have the same names;
    /// - `timeoutIntervalForRequest`, as the limit for connecting and for idle time, and `timeoutIntervalForResource`,
    ///   as the limit for the exchange as a whole; a value that is not above zero, or is above ten years, sets no
    ///   limit;
    /// - `httpMaximumConnectionsPerHost`, where it is above zero;
    /// - `httpCookieAcceptPolicy`; no cookies are kept or sent where `httpShouldSetCookies` is `false` or there is no
    ///   `httpCookieStorage`. The storage itself is neither read nor written: give its cookies to the session's
    ///   `cookies`;
    /// - `connectionProxyDictionary`: `nil` stands for the environment's proxy, an empty dictionary for no proxy. A
    ///   session has one proxy: the HTTPS proxy if it is enabled, else the HTTP proxy, else the SOCKS proxy; with
    ///   `ExceptionsList`, and the name and the password in the dictionary;
    /// - `requestCachePolicy`, as `cachePolicy`, with the fields that it adds to a request;
    /// - `urlCache`, as a `ResponseCache` in memory of its `memoryCapacity`, unless it is `URLCache.shared`, which the
    ///   default configuration has; an ephemeral one has a cache of its own. What it holds is neither read nor written, and Foundation does
    ///   not tell its directory: for files, give `cache` another.
    ///
    /// The following are ignored: `identifier` (nothing continues when the process has ended), `networkServiceType`,
    /// `allowsCellularAccess`, `isDiscretionary`, `sharedContainerIdentifier`, `sessionSendsLaunchEvents`,
    /// `shouldUseExtendedBackgroundIdleMode`, `multipathServiceType`, `usesClassicLoadingMode`, `waitsForConnectivity`
    /// (an `OfflineRetrier` waits), `httpShouldUsePipelining`, `urlCredentialStorage` and `protocolClasses`: a
    /// session's `transport` answers in place of the network. The versions of TLS are not in Foundation's configuration
    /// on Linux: set `tls`.
    ///
    /// - Parameter urlSessionConfiguration: The configuration, read now.
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
    /// Creates a session from a configuration of `URLSession`.
    ///
    /// - Parameters:
    ///   - configuration: Becomes the session's as `Session.Configuration.init(_:)` says; read now, once.
    ///   - interceptor: Adapts and retries all requests.
    ///   - serverTrustManager: Evaluates the servers' certificates.
    ///   - redirectHandler: Decides about redirects of requests that have no handler of their own.
    ///   - cachedResponseHandler: Decides what is stored for requests that have no handler of their own.
    ///   - startRequestsImmediately: Whether requests start when their first serializer, task or stream is attached.
    @_disfavoredOverload  // `.default` means Bluebonnet's
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
    /// The configurations to begin with that have Bluebonnet's default fields.
    public static var af: DefaultConfigurations { DefaultConfigurations() }

    /// The fields that every request has unless it sets them itself; `httpAdditionalHeaders` by its type, sorted by name.
    public var headers: HTTPHeaders {
        get {
            let pairs = (httpAdditionalHeaders ?? [:]).compactMap { name, value in
                (name as? String).map { ($0, "\(value)") }
            }
            return HTTPHeaders(Dictionary(pairs) { first, _ in first })
        }
        set { httpAdditionalHeaders = newValue.dictionary }
    }

    /// Configurations of `URLSession` with the fields `Accept-Encoding`, `Accept-Language` and `User-Agent`.
    public struct DefaultConfigurations: Sendable {
        /// A new default configuration.
        public var `default`: URLSessionConfiguration { withDefaultHeaders(.default) }

        /// A new configuration that keeps nothing on disk.
        public var ephemeral: URLSessionConfiguration { withDefaultHeaders(.ephemeral) }

        private func withDefaultHeaders(_ configuration: URLSessionConfiguration) -> URLSessionConfiguration {
            configuration.headers = .default
            return configuration
        }
    }
}

extension Session.Configuration.Proxy {
    /// The proxy that a dictionary with CFNetwork's keys names.
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
        // Booleans and integers are numbers of Foundation's, too.
        let isOn = (dictionary["\(prefix)Enable"] as? NSNumber)?.boolValue ?? false
        guard isOn, let host = dictionary["\(prefix)Proxy"] as? String, !host.isEmpty else { return nil }
        // An IPv6 address comes without brackets.
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        let port = (dictionary["\(prefix)Port"] as? NSNumber)?.intValue
        return "\(scheme)://\(name)\(port.map { ":\($0)" } ?? "")"
    }
}
