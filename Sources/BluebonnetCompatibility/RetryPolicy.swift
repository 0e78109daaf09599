public import BluebonnetCallbacks
public import Foundation
import FoundationNetworking

// Safety: the properties are constants; subclasses are responsible for their own properties.
/// A policy that retries requests after failures of the connection or of the server.
open class RetryPolicy: RequestInterceptor, @unchecked Sendable {
    /// The default maximum number of retries of a request: 2.
    public static let defaultRetryLimit = Bluebonnet.RetryPolicy.defaultRetryLimit
    /// The default base of the delay: 2.
    public static let defaultExponentialBackoffBase = Bluebonnet.RetryPolicy.defaultExponentialBackoffBase
    /// The default scale of the delay: 0.5.
    public static let defaultExponentialBackoffScale = Bluebonnet.RetryPolicy.defaultExponentialBackoffScale
    /// The default methods: DELETE, GET, HEAD, OPTIONS, PUT and TRACE, which are idempotent (RFC 9110 §9.2.2).
    public static let defaultRetryableHTTPMethods = Bluebonnet.RetryPolicy.defaultRetryableHTTPMethods
    /// The default status codes: 408, 429, 500, 502, 503 and 504.
    public static let defaultRetryableHTTPStatusCodes = Bluebonnet.RetryPolicy.defaultRetryableHTTPStatusCodes
    /// The default error codes, for example for failed connections, timeouts and unusable responses.
    public static let defaultRetryableURLErrorCodes: Set<URLError.Code> = [
        .badServerResponse, .cannotConnectToHost, .cannotFindHost, .cannotParseResponse, .dnsLookupFailed,
        .networkConnectionLost, .notConnectedToInternet, .secureConnectionFailed, .timedOut,
        .zeroByteResource, .serverCertificateHasBadDate, .serverCertificateNotYetValid,
    ]

    /// The maximum number of retries of a request.
    public let retryLimit: UInt
    /// The base of the delay; the delay is the base to the power of the number of previous retries, multiplied by the
    /// scale.
    public let exponentialBackoffBase: UInt
    /// The factor in seconds by which the power of the base is multiplied.
    public let exponentialBackoffScale: Double
    /// The methods of requests that are retried.
    public let retryableHTTPMethods: Set<HTTPMethod>
    /// The status codes after which a request is retried.
    public let retryableHTTPStatusCodes: Set<Int>
    /// The error codes after which a request is retried.
    public let retryableURLErrorCodes: Set<URLError.Code>

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - retryLimit: The maximum number of retries of a request.
    ///   - exponentialBackoffBase: The base of the delay.
    ///   - exponentialBackoffScale: The scale of the delay, in seconds.
    ///   - retryableHTTPMethods: The methods of requests that are retried.
    ///   - retryableHTTPStatusCodes: The status codes after which a request is retried.
    ///   - retryableURLErrorCodes: The error codes after which a request is retried.
    public init(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        retryableURLErrorCodes: Set<URLError.Code> = RetryPolicy.defaultRetryableURLErrorCodes
    ) {
        precondition(exponentialBackoffBase >= 2, "the base of the delay must be at least 2")
        self.retryLimit = retryLimit
        self.exponentialBackoffBase = exponentialBackoffBase
        self.exponentialBackoffScale = exponentialBackoffScale
        self.retryableHTTPMethods = retryableHTTPMethods
        self.retryableHTTPStatusCodes = retryableHTTPStatusCodes
        self.retryableURLErrorCodes = retryableURLErrorCodes
    }

    /// Retries the request if `shouldRetry(request:dueTo:)` returns `true` and the retry limit is not reached.
    ///
    /// The delay grows exponentially with each retry. If the response has a `Retry-After` field with a longer delay,
    /// this delay is used instead, up to 60 seconds.
    open func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping RetryCompletion
    ) {
        guard request.retryCount < retryLimit, shouldRetry(request: request, dueTo: error) else {
            return completion(.doNotRetry)
        }
        let exponential = pow(Double(exponentialBackoffBase), Double(request.retryCount)) * exponentialBackoffScale
        let field = request.response?.value(forHTTPHeaderField: "Retry-After")
        let requested = field.flatMap { RetryAfter.delay($0, now: Date()) } ?? .zero
        completion(.retryWithDelay(max(exponential, min(requested / .seconds(1), 60))))
    }

    /// Returns whether to retry a failed request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - error: The error.
    /// - Returns: Whether to retry.
    open func shouldRetry(request: Request, dueTo error: any Error) -> Bool {
        guard let method = request.request?.method, retryableHTTPMethods.contains(method) else { return false }
        if let code = request.response?.statusCode, retryableHTTPStatusCodes.contains(code) { return true }
        let cause = error.asAFError?.underlyingError ?? error
        return (cause as? URLError).map { retryableURLErrorCodes.contains($0.code) } ?? false
    }
}

// Safety: all stored properties are constants of `Sendable` types.
/// A policy that retries requests only after the connection was lost.
open class ConnectionLostRetryPolicy: RetryPolicy, @unchecked Sendable {
    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - retryLimit: The maximum number of retries of a request.
    ///   - exponentialBackoffBase: The base of the delay.
    ///   - exponentialBackoffScale: The scale of the delay, in seconds.
    ///   - retryableHTTPMethods: The methods of requests that are retried.
    public init(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods
    ) {
        super.init(
            retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale, retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: [], retryableURLErrorCodes: [.networkConnectionLost])
    }
}

extension RequestInterceptor where Self == RetryPolicy {
    /// The default policy.
    public static var retryPolicy: RetryPolicy { RetryPolicy() }

    /// Creates a policy; see the initializer of `RetryPolicy`.
    public static func retryPolicy(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        retryableURLErrorCodes: Set<URLError.Code> = RetryPolicy.defaultRetryableURLErrorCodes
    ) -> RetryPolicy {
        RetryPolicy(
            retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale, retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: retryableHTTPStatusCodes, retryableURLErrorCodes: retryableURLErrorCodes)
    }
}

extension RequestInterceptor where Self == ConnectionLostRetryPolicy {
    /// The default policy for lost connections.
    public static var connectionLostRetryPolicy: ConnectionLostRetryPolicy { ConnectionLostRetryPolicy() }

    /// Creates a policy for lost connections; see the initializer of `ConnectionLostRetryPolicy`.
    public static func connectionLostRetryPolicy(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods
    ) -> ConnectionLostRetryPolicy {
        ConnectionLostRetryPolicy(
            retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale, retryableHTTPMethods: retryableHTTPMethods)
    }
}

extension DeflateRequestCompressor: AsyncInterceptor {
    var native: any Bluebonnet.RequestInterceptor { self }
}

extension RequestInterceptor where Self == DeflateRequestCompressor {
    /// An interceptor that compresses bodies.
    public static var deflateCompressor: DeflateRequestCompressor { DeflateRequestCompressor() }

    /// An interceptor that compresses bodies.
    ///
    /// - Parameters:
    ///   - duplicateHeaderBehavior: The handling of a request that already has a `Content-Encoding`; by default, the
    ///     request fails.
    ///   - shouldCompressBodyData: A closure that decides whether a body in memory is compressed; by default, all
    ///     bodies are compressed.
    /// - Returns: The interceptor.
    public static func deflateCompressor(
        duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) -> DeflateRequestCompressor {
        DeflateRequestCompressor(
            duplicateHeaderBehavior: duplicateHeaderBehavior, shouldCompressBodyData: shouldCompressBodyData)
    }
}
