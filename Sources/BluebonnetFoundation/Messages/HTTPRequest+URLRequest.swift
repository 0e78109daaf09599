public import Bluebonnet
import Foundation
public import FoundationNetworking

extension HTTPRequest {
    /// Creates a request from one of Foundation's.
    ///
    /// Taken over are the URL, the method, the fields, the body or the body's stream, whether cookies are handled, and:
    ///
    /// - The timeout, unless it is Foundation's default of 60 seconds: it limits connecting and idle time, in place of
    ///   the session's limits, including the limit for the exchange as a whole. A timeout that is not above zero, or is
    ///   above ten years, sets no limit.
    /// - The cache policy, as `cachePolicy`; Foundation's default leaves the choice to the session. The policy that has
    ///   caches on the way ignored adds `Cache-Control: no-cache` and `Pragma: no-cache` (RFC 9111 §5.2.1.4, §5.4) where
    ///   the request has no such fields.
    /// - `Content-Length`, as the number of bytes of a body that is a stream; `RequestBody.inputStream(_:length:)` says how that
    ///   is read.
    ///
    /// `mainDocumentURL`, `networkServiceType`, `allowsCellularAccess` and `httpShouldUsePipelining` are ignored.
    ///
    /// - Parameter urlRequest: Foundation's request.
    /// - Throws: `.invalidURL` when it has no URL. A `URLError` is the underlying error.
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

    /// The request in Foundation's terms; made each time it is asked for.
    public var urlRequest: URLRequest { URLRequest(self) }
}

extension HTTPRequest: URLRequestConvertible {
    /// Returns the request in Foundation's terms, as `URLRequest.init(_:)` makes it.
    ///
    /// - Returns: The request.
    public func asURLRequest() -> URLRequest { urlRequest }
}

extension URLRequest {
    /// Creates a request from one of Bluebonnet's.
    ///
    /// Converts each part as `HTTPRequest.init(_:)` does, in the other direction. Repeated fields become one, their
    /// values joined. A body that is not in memory becomes a stream, which blocks the thread that reads it. The
    /// credential, the version of HTTP, the proxy and the priority have no place in a `URLRequest`, and nor have limits
    /// for the exchange as a whole.
    ///
    /// - Parameter request: Bluebonnet's request.
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

    /// The body as Bluebonnet sends it.
    fileprivate var requestBody: RequestBody? {
        if let httpBody { return .data(httpBody) }
        guard let httpBodyStream else { return nil }
        let length = value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }
        return .inputStream(httpBodyStream, length: length.flatMap { $0 >= 0 ? $0 : nil })
    }
}

extension HTTPRequest {
    /// The request with what was changed of its counterpart, and all else as it is.
    package func changed(from original: URLRequest, to changed: URLRequest) throws(RequestError) -> HTTPRequest {
        let converted = try HTTPRequest(changed)
        var request = self
        request.url = converted.url
        request.method = converted.method
        request.handlesCookies = converted.handlesCookies
        if changed.timeoutInterval != original.timeoutInterval { request.timeouts = converted.timeouts }
        if changed.httpBody != original.httpBody || changed.httpBodyStream !== original.httpBodyStream {
            request.body = converted.body
        }
        // One by one: repeated fields that were not touched stay apart.
        let before = original.headers
        for field in before where !converted.headers.contains(field.name) { request.headers.remove(name: field.name) }
        for field in converted.headers where before[field.name] != field.value { request.headers.update(field) }
        return request
    }
}

extension URLRequest.CachePolicy {
    /// The policy in Bluebonnet's terms; `nil` for Foundation's default, which leaves the choice to the session.
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

    /// The fields that have caches on the way ignored, too, if that is the policy (RFC 9111 §5.2.1.4, §5.4).
    var directives: [HTTPHeader] {
        guard self == .reloadIgnoringLocalAndRemoteCacheData else { return [] }
        return [HTTPHeader(name: "Cache-Control", value: "no-cache"), HTTPHeader(name: "Pragma", value: "no-cache")]
    }

    /// The policy of a request in Foundation's terms.
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
    /// The default limit of a `URLRequest`, in seconds.
    static let defaultTimeout: TimeInterval = 60

    /// The timeout that stands for no limit in a `URLRequest`, in seconds: ten years.
    static let unlimited: TimeInterval = 315_360_000

    /// The limit for idle time as one number; that for connecting where there is no other.
    init(_ timeouts: Timeouts) {
        self = (timeouts.idle ?? timeouts.connect).map { $0 / .seconds(1) } ?? .unlimited
    }

    /// The limit as a duration; `nil` for none.
    var duration: Duration? { self > 0 && self < .unlimited ? .seconds(self) : nil }

    /// The limits that a request's timeout stands for; the default is the session's.
    static func timeouts(_ interval: TimeInterval) -> Timeouts {
        guard interval != defaultTimeout else { return .default }
        return Timeouts(connect: interval.duration, idle: interval.duration)
    }
}
