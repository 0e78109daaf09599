public import Bluebonnet
import Foundation
public import FoundationNetworking

extension HTTPRequest {
    /// Creates a request from a Foundation `URLRequest`.
    ///
    /// The URL, the method, the header fields, the body or body stream, and `httpShouldHandleCookies` are copied. These
    /// properties need a conversion:
    ///
    /// - The timeout limits connecting and idle time. It replaces these two limits of the session; the session's other
    ///   limits still apply. Foundation's default of 60 seconds is ignored, and the session's limits apply. A timeout
    ///   that is not above zero, or that is ten years or more, sets no limit.
    /// - The cache policy becomes the `cachePolicy`. Foundation's default leaves the choice to the session. The policy
    ///   `reloadIgnoringLocalAndRemoteCacheData` adds `Cache-Control: no-cache` and `Pragma: no-cache` (RFC 9111
    ///   §5.2.1.4, §5.4), unless the request already has these fields.
    /// - `Content-Length` is the number of bytes of a body stream. See `RequestBody.inputStream(_:length:)` for how the
    ///   stream is read.
    ///
    /// `mainDocumentURL`, `networkServiceType`, `allowsCellularAccess` and `httpShouldUsePipelining` are ignored.
    ///
    /// - Parameter urlRequest: The Foundation request.
    /// - Throws: `.invalidURL` with a `URLError` as the underlying error, if the request has no URL.
    public init(_ urlRequest: URLRequest) throws(RequestError) {
        guard let url = urlRequest.url else { throw RequestError(.invalidURL, underlying: URLError(.badURL)) }
        self.init(
            url: url, method: urlRequest.method ?? .get, headers: urlRequest.headers, body: urlRequest.requestBody)
        handlesCookies = urlRequest.httpShouldHandleCookies
        timeouts = TimeInterval.timeouts(urlRequest.timeoutInterval)
        cachePolicy = urlRequest.cachePolicy.native
        for directive in urlRequest.cachePolicy.directives where !urlRequest.headers.contains(directive.name) {
            headers.append(directive)
        }
    }

    /// The request as a Foundation `URLRequest`, converted on each access.
    public var urlRequest: URLRequest { URLRequest(self) }
}

extension HTTPRequest: URLRequestConvertible {
    /// Returns the request as a Foundation `URLRequest`, converted by `URLRequest.init(_:)`.
    ///
    /// - Returns: The Foundation request.
    public func asURLRequest() -> URLRequest { urlRequest }
}

extension URLRequest {
    /// Creates a Foundation `URLRequest` from a Bluebonnet request.
    ///
    /// Each part is converted as in `HTTPRequest.init(_:)`, in the opposite direction. Repeated header fields become
    /// one field with their values joined. A body that is not in memory becomes a stream, which blocks the thread that
    /// reads it.
    ///
    /// The timeout is the request's idle timeout, or its connect timeout if the idle timeout is `nil`. `URLRequest`
    /// cannot represent the credential, the HTTP version, the proxy, the priority, or the `pool` and `total` timeouts;
    /// these are dropped.
    ///
    /// - Parameter request: The Bluebonnet request.
    public init(_ request: HTTPRequest) {
        self.init(url: request.url)
        method = request.method
        headers = request.headers
        if let data = request.body?.data {
            httpBody = data
        } else if let body = request.body {
            httpBodyStream = BodyInputStream(body.pieces)
        }
        httpShouldHandleCookies = request.handlesCookies
        if request.timeouts != .default { timeoutInterval = TimeInterval(request.timeouts) }
        cachePolicy = CachePolicy(request)
    }

    /// The body as a `RequestBody`, if there is one.
    fileprivate var requestBody: RequestBody? {
        if let httpBody { return .data(httpBody) }
        guard let httpBodyStream else { return nil }
        let length = value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }
        return .inputStream(httpBodyStream, length: length.flatMap { $0 >= 0 ? $0 : nil })
    }
}

extension HTTPRequest {
    /// Returns this request with the changes between two versions of its `URLRequest`; all other properties stay.
    package func changed(from original: URLRequest, to changed: URLRequest) throws(RequestError) -> HTTPRequest {
        let converted = try HTTPRequest(changed)
        var request = self
        request.url = converted.url
        request.method = converted.method
        request.handlesCookies = converted.handlesCookies
        if changed.timeoutInterval != original.timeoutInterval {
            request.timeouts = request.timeouts.connectingAndIdling(like: converted.timeouts)
        }
        if changed.httpBody != original.httpBody || changed.httpBodyStream !== original.httpBodyStream {
            request.body = converted.body
        }
        // Field by field, so that repeated fields that were not changed stay separate.
        let before = original.headers
        for field in before where !converted.headers.contains(field.name) { request.headers.remove(name: field.name) }
        for field in converted.headers where before[field.name] != field.value { request.headers.update(field) }
        return request
    }
}

extension URLRequest.CachePolicy {
    /// The policy as a Bluebonnet policy; `nil` for Foundation's default, which leaves the choice to the session.
    var native: HTTPRequest.CachePolicy? {
        switch self {
        case .useProtocolCachePolicy: nil
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: .reloadIgnoringCache
        case .returnCacheDataElseLoad: .returnCacheElseLoad
        case .returnCacheDataDontLoad: .returnCacheDontLoad
        case .reloadRevalidatingCacheData: .reloadRevalidating
        @unknown default: .reloadIgnoringCache
        }
    }

    /// The fields that tell remote caches not to answer, if that is the policy (RFC 9111 §5.2.1.4, §5.4).
    var directives: [HTTPHeader] {
        guard self == .reloadIgnoringLocalAndRemoteCacheData else { return [] }
        return [HTTPHeader(name: "Cache-Control", value: "no-cache"), HTTPHeader(name: "Pragma", value: "no-cache")]
    }

    /// Creates the policy of a Bluebonnet request.
    init(_ request: HTTPRequest) {
        switch request.cachePolicy {
        case .reloadIgnoringCache:
            let isRemote = URLRequest.CachePolicy.reloadIgnoringLocalAndRemoteCacheData.directives.allSatisfy {
                request.headers.contains($0)
            }
            self = isRemote ? .reloadIgnoringLocalAndRemoteCacheData : .reloadIgnoringLocalCacheData
        case .returnCacheElseLoad: self = .returnCacheDataElseLoad
        case .returnCacheDontLoad: self = .returnCacheDataDontLoad
        case .reloadRevalidating: self = .reloadRevalidatingCacheData
        default: self = .useProtocolCachePolicy
        }
    }
}

extension TimeInterval {
    /// The default timeout of a `URLRequest`, in seconds.
    static let defaultTimeout: TimeInterval = 60

    /// The timeout that stands for no limit in a `URLRequest`, in seconds: ten years.
    static let unlimited: TimeInterval = 315_360_000

    /// The idle limit in seconds; the connect limit if there is no idle limit.
    init(_ timeouts: Timeouts) {
        self = (timeouts.idle ?? timeouts.connect).map { $0 / .seconds(1) } ?? .unlimited
    }

    /// The limit as a duration; `nil` for no limit.
    var duration: Duration? { self > 0 && self < .unlimited ? .seconds(self) : nil }

    /// The limits for a `URLRequest`'s timeout; Foundation's default stands for the session's limits.
    static func timeouts(_ interval: TimeInterval) -> Timeouts {
        guard interval != defaultTimeout else { return .default }
        return Timeouts(connect: interval.duration, idle: interval.duration)
    }
}
