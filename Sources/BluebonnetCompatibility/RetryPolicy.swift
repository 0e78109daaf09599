public import BluebonnetCallbacks
public import Foundation
import FoundationNetworking

// Safety: the properties are constants; subclasses answer for their own.
/// A policy that makes requests again after failures of the connection or of the server.
open class RetryPolicy: RequestInterceptor, @unchecked Sendable {
    /// The default number of retries of a request: 2.
    public static let defaultRetryLimit = Bluebonnet.RetryPolicy.defaultRetryLimit
    /// The default base of the delay: 2.
    public static let defaultExponentialBackoffBase = Bluebonnet.RetryPolicy.defaultExponentialBackoffBase
    /// The default scale of the delay: 0.5.
    public static let defaultExponentialBackoffScale = Bluebonnet.RetryPolicy.defaultExponentialBackoffScale
    /// The default methods: those that may be repeated (RFC 9110, section 9.2.2).
    public static let defaultRetryableHTTPMethods = Bluebonnet.RetryPolicy.defaultRetryableHTTPMethods
    /// The default status codes: 408, 429, 500, 502, 503 and 504.
    public static let defaultRetryableHTTPStatusCodes = Bluebonnet.RetryPolicy.defaultRetryableHTTPStatusCodes
    /// The default codes of errors, which say that the connection has failed.
    public static let defaultRetryableURLErrorCodes: Set<URLError.Code> = [
        .badServerResponse, .cannotConnectToHost, .cannotFindHost, .cannotParseResponse, .dnsLookupFailed,
        .networkConnectionLost, .notConnectedToInternet, .secureConnectionFailed, .timedOut,
        .zeroByteResource, .serverCertificateHasBadDate, .serverCertificateNotYetValid,
    ]

    /// The number of retries of a request.
    public let retryLimit: UInt
    /// The base of the delay, which is the base to the power of the number of retries, times the scale.
    public let exponentialBackoffBase: UInt
    /// The scale of the delay, in seconds.
    public let exponentialBackoffScale: Double
    /// The methods whose requests are made again.
    public let retryableHTTPMethods: Set<HTTPMethod>
    /// The status codes after which a request is made again.
    public let retryableHTTPStatusCodes: Set<Int>
    /// The codes of errors after which a request is made again.
    public let retryableURLErrorCodes: Set<URLError.Code>

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - retryLimit: The number of retries of a request.
    ///   - exponentialBackoffBase: The base of the delay.
    ///   - exponentialBackoffScale: The scale of the delay, in seconds.
    ///   - retryableHTTPMethods: The methods whose requests are made again.
    ///   - retryableHTTPStatusCodes: The status codes after which a request is made again.
    ///   - retryableURLErrorCodes: The codes of errors after which a request is made again.
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

    /// Asks `shouldRetry(request:dueTo:)`, and waits longer after each failure.
    ///
    /// The delay is the longer one of the exponential delay and of a `Retry-After` field of at most a minute.
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

    /// Returns whether to make a failed request again.
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
/// A policy that makes requests again only after their connection was lost.
open class ConnectionLostRetryPolicy: RetryPolicy, @unchecked Sendable {
    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - retryLimit: The number of retries of a request.
    ///   - exponentialBackoffBase: The base of the delay.
    ///   - exponentialBackoffScale: The scale of the delay, in seconds.
    ///   - retryableHTTPMethods: The methods whose requests are made again.
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

    /// A policy; see the initializer.
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

    /// A policy for lost connections; see the initializer.
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
    ///   - duplicateHeaderBehavior: What happens to requests with a `Content-Encoding`; they fail by default.
    ///   - shouldCompressBodyData: A closure that decides for each body in memory; by default, all are compressed.
    /// - Returns: The interceptor.
    public static func deflateCompressor(
        duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) -> DeflateRequestCompressor {
        DeflateRequestCompressor(
            duplicateHeaderBehavior: duplicateHeaderBehavior, shouldCompressBodyData: shouldCompressBodyData)
    }
}
