public import Bluebonnet
import Foundation
public import FoundationNetworking

extension HTTPRequest {
    /// Creates a request from a Foundation `URLRequest`.
    ///
    /// The new request has the same URL, the same method, the same header fields, the same body or body stream, and the
    /// same `httpShouldHandleCookies`. These parts are converted:
    ///
    /// - `timeoutInterval` sets the connect timeout and the idle timeout of the request. The other timeouts come from
    ///   the session. If the value is Foundation's default of 60 seconds, all timeouts come from the session. A value
    ///   of zero or less, or of ten years or more, means no timeout.
    /// - `cachePolicy` sets the `cachePolicy` of the request. Foundation's default, `useProtocolCachePolicy`, selects
    ///   the policy of the session. The policy `reloadIgnoringLocalAndRemoteCacheData` also adds the header fields
    ///   `Cache-Control: no-cache` and `Pragma: no-cache` (RFC 9111 §5.2.1.4, §5.4). A field is not added if the
    ///   request already has a field with the same name.
    /// - The header field `Content-Length` sets the length of a body stream; see `RequestBody.inputStream(_:length:)`.
    ///
    /// `mainDocumentURL`, `networkServiceType`, `allowsCellularAccess` and `httpShouldUsePipelining` are ignored.
    ///
    /// - Parameter urlRequest: The Foundation request.
    /// - Throws: `.invalidURL`, with a `URLError` as its underlying error, if the Foundation request has no URL.
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
    /// Returns the request as a Foundation `URLRequest`.
    ///
    /// - Returns: The Foundation request.
    public func asURLRequest() -> URLRequest { urlRequest }
}

extension URLRequest {
    /// Creates a Foundation `URLRequest` from a Bluebonnet request.
    ///
    /// The conversion is the reverse of `HTTPRequest.init(_:)`. Repeated header fields become one field with joined
    /// values. A body that is not in memory becomes an `InputStream`. Its `read` method blocks the calling thread.
    ///
    /// The `timeoutInterval` is the request's idle timeout, or its connect timeout if the idle timeout is `nil`. If
    /// both are `nil`, the `timeoutInterval` is ten years. A `URLRequest` cannot represent a credential, an HTTP
    /// version, a proxy, a priority, or the timeouts `queue`, `pool` and `total`. The conversion drops these values.
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

    /// The body as a `RequestBody`; `nil` if there is no body.
    fileprivate var requestBody: RequestBody? {
        if let httpBody { return .data(httpBody) }
        guard let httpBodyStream else { return nil }
        let length = value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }
        return .inputStream(httpBodyStream, length: length.flatMap { $0 >= 0 ? $0 : nil })
    }
}

extension HTTPRequest {
    /// Returns this request with the changes that were made to its `URLRequest`.
    ///
    /// Properties that a `URLRequest` does not have stay unchanged.
    ///
    /// - Parameters:
    ///   - original: The `URLRequest` that was created from this request.
    ///   - changed: The `URLRequest` with the changes.
    /// - Returns: This request with the changes.
    /// - Throws: `.invalidURL` if the changed `URLRequest` has no URL.
    package func changed(from original: URLRequest, to changed: URLRequest) throws(RequestError) -> HTTPRequest {
        let converted = try HTTPRequest(changed)
        var request = self
        request.url = converted.url
        request.method = converted.method
        request.handlesCookies = converted.handlesCookies
        if changed.cachePolicy != original.cachePolicy { request.cachePolicy = converted.cachePolicy }
        if changed.timeoutInterval != original.timeoutInterval {
            request.timeouts = request.timeouts.connectingAndIdling(like: converted.timeouts)
        }
        // A new `URLRequest` that an adapter has created has no stream. In this case, an upload keeps its body, as in
        // Alamofire.
        let losesStream = original.httpBodyStream != nil && changed.httpBodyStream == nil && changed.httpBody == nil
        let changesBody =
            changed.httpBody != original.httpBody || changed.httpBodyStream !== original.httpBodyStream
        if changesBody, !losesStream { request.body = converted.body }
        // Each field is compared, so that unchanged repeated fields stay separate.
        let before = original.headers
        for field in before where !converted.headers.contains(field.name) { request.headers.remove(name: field.name) }
        for field in converted.headers where before[field.name] != field.value { request.headers.update(field) }
        return request
    }
}

extension URLRequest.CachePolicy {
    /// The policy as a Bluebonnet policy; `nil` for Foundation's default, which selects the policy of the session.
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

    /// The header fields that bypass remote caches (RFC 9111 §5.2.1.4, §5.4); none if the policy does not require them.
    var directives: [HTTPHeader] {
        guard self == .reloadIgnoringLocalAndRemoteCacheData else { return [] }
        return [HTTPHeader(name: "Cache-Control", value: "no-cache"), HTTPHeader(name: "Pragma", value: "no-cache")]
    }

    /// Creates the Foundation policy for a Bluebonnet request.
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

    /// The timeout of a `URLRequest` that means no timeout, in seconds; ten years.
    static let unlimited: TimeInterval = 315_360_000

    /// Creates the idle timeout in seconds, or the connect timeout if there is no idle timeout.
    init(_ timeouts: Timeouts) {
        self = (timeouts.idle ?? timeouts.connect).map { $0 / .seconds(1) } ?? .unlimited
    }

    /// The timeout as a duration; `nil` for no timeout.
    var duration: Duration? { self > 0 && self < .unlimited ? .seconds(self) : nil }

    /// Returns the timeouts for the timeout of a `URLRequest`; Foundation's default selects the timeouts of the
    /// session.
    static func timeouts(_ interval: TimeInterval) -> Timeouts {
        guard interval != defaultTimeout else { return .default }
        return Timeouts(connect: interval.duration, idle: interval.duration)
    }
}
