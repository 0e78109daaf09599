import BluebonnetCallbacks
import Foundation
import FoundationNetworking

extension Session {
    /// The handlers with which a session is created.
    struct Parts {
        var interceptor: (any RequestInterceptor)?
        var serverTrustManager: ServerTrustManager?
        var redirectHandler: (any RedirectHandler)?
        var cachedResponseHandler: (any CachedResponseHandler)?
        var eventMonitors: [any EventMonitor] = []

        func session(
            _ configuration: Configuration, refusal: StubRefusal? = nil, startRequestsImmediately: Bool,
            transport: (any Transport)? = nil
        ) -> Bluebonnet.Session {
            let own = interceptor.map(InterceptorBridge.calling)
            return Bluebonnet.Session(
                configuration: configuration, interceptor: refusal ?? own,
                serverTrustManager: serverTrustManager?.base,
                redirectHandler: redirectHandler.map { RedirectBridge.calling($0) },
                cachedResponseHandler: cachedResponseHandler.map { CacheBridge(handler: $0) },
                eventMonitors: eventMonitors.map { MonitorBridge(monitor: $0) },
                startRequestsImmediately: startRequestsImmediately, transport: transport)
        }
    }
}

extension Session.Configuration {
    /// Creates a configuration with the settings of a `URLSessionConfiguration` and the current cookies of its storage.
    init(takingCookiesOf configuration: URLSessionConfiguration) {
        self.init(configuration)
        guard cookies.policy != .never, let stored = configuration.httpCookieStorage?.cookies else { return }
        cookies.initial = stored.map { Cookie($0) }.filter { (try? $0.validate()) != nil }
    }
}

/// An interceptor that fails every request of a session, because the session would ignore the user's `URLProtocol`
/// classes.
struct StubRefusal: Bluebonnet.RequestInterceptor, Error, CustomStringConvertible {
    private let classes: String

    init?(_ configuration: URLSessionConfiguration) {
        let system = (URLSessionConfiguration.default.protocolClasses ?? []).map { ObjectIdentifier($0) }
        let own = (configuration.protocolClasses ?? []).filter { !system.contains(ObjectIdentifier($0)) }
        guard !own.isEmpty else { return nil }
        classes = own.map { "\($0)" }.joined(separator: ", ")
    }

    var description: String {
        "URLProtocol classes (\(classes)) are not called; use a StubTransport of BluebonnetTesting"
    }

    func adapt(_ request: HTTPRequest, using state: Bluebonnet.RequestAdapterState) async throws -> HTTPRequest {
        throw self
    }
}

extension Bluebonnet.DownloadRequest.Destination {
    static func calling(_ destination: DownloadRequest.Destination?) -> Self {
        destination.map { choose in .custom { choose($0, $1.urlResponse) } } ?? .temporary
    }
}

/// A request that a closure creates.
struct Converted: URLRequestConvertible {
    let make: @Sendable () throws -> URLRequest

    func asURLRequest() throws -> URLRequest { try make() }

    /// Returns a request of a URL; a closure encodes the parameters.
    static func url(
        _ url: any URLConvertible, _ method: HTTPMethod, _ headers: HTTPHeaders?, _ modify: Session.RequestModifier?,
        _ encode: @escaping Encoding = { $0 }
    ) -> Converted {
        Converted {
            var request = try URLRequest(url: url, method: method, headers: headers)
            try modify?(&request)
            return try encode(request)
        }
    }

    typealias Encoding = @Sendable (URLRequest) throws -> URLRequest

    static func encoding(
        _ parameters: Result<Parameters?, RequestError>, _ encoding: any ParameterEncoding
    ) -> Encoding { { try encoding.encode($0, with: parameters.get()) } }

    static func encoding<P: Encodable & Sendable>(_ parameters: P?, _ encoder: any ParameterEncoder) -> Encoding {
        { request in try parameters.map { try encoder.encode($0, into: request) } ?? request }
    }

    /// Returns the value from which a request of `Bluebonnet` was created.
    static func of(_ convertible: any HTTPRequestConvertible) -> any URLRequestConvertible {
        if let form = convertible as? FormByDefault { return form.convertible }
        return convertible as? any URLRequestConvertible ?? Converted { URLRequest(try convertible.asHTTPRequest()) }
    }
}

/// A request of the user; the body of a POST request without a `Content-Type` is sent as a form, as in `URLSession`.
struct FormByDefault: HTTPRequestConvertible {
    let convertible: any URLRequestConvertible

    func asHTTPRequest() throws -> HTTPRequest {
        var request = try convertible.asHTTPRequest()
        if request.method == .post, let body = request.body, body.length != 0, body.contentType == nil,
            !request.headers.contains("Content-Type")
        {
            request.headers.update(.contentType("application/x-www-form-urlencoded"))
        }
        return request
    }
}
