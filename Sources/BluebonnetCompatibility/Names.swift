// These declarations give types their Alamofire names. They apply in a module that imports this module but does not
// import `Bluebonnet` itself. The article about migrating describes the imports.
@_exported public import BluebonnetCallbacks
@_exported public import BluebonnetReachability
public import Foundation
public import FoundationNetworking

/// The metrics of an exchange; a replacement for Foundation's type, because only a `URLSession` can create that type.
public typealias URLSessionTaskMetrics = TransferMetrics

extension TransferMetrics {
    /// The time interval of the exchange.
    ///
    /// The interval ends at the time of this call, because the end of the exchange is not recorded.
    public var taskInterval: DateInterval {
        let duration = total / .seconds(1)
        return DateInterval(start: Date(timeIntervalSinceNow: -duration), duration: duration)
    }
}

/// The version of the library.
public enum AFInfo {
    /// The version of Bluebonnet.
    public static let version = BluebonnetInfo.version
}

// Safety: the class has no properties; subclasses are responsible for their own properties.
/// The delegate of a session.
///
/// The delegate has no effect, because no `URLSession` is used.
open class SessionDelegate: NSObject, URLSessionDelegate, @unchecked Sendable {
    /// Creates a delegate.
    ///
    /// - Parameter fileManager: Ignored.
    public init(fileManager: FileManager = .default) {}

    /// Not available; use the `ServerTrustManager` of a session, or `authenticate(with:)` of a request.
    @available(*, unavailable, message: "give the session a ServerTrustManager, or call authenticate(with:)")
    open func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {}

    /// Not available; use the `RedirectHandler` of a session.
    @available(*, unavailable, message: "give the session a RedirectHandler")
    open func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {}

    /// Not available; use the event monitors of a session.
    @available(*, unavailable, message: "give the session an EventMonitor")
    open func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {}

    /// Not available; use the `CachedResponseHandler` of a session.
    @available(*, unavailable, message: "give the session a CachedResponseHandler")
    open func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {}

    /// Not available; use a stream request.
    @available(*, unavailable, message: "use Session.streamRequest")
    open func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {}
}

// Safety: the properties are constants; subclasses are responsible for their own properties.
/// A manager that has an evaluator for each host.
open class ServerTrustManager: @unchecked Sendable {
    /// Whether servers without an evaluator are refused.
    public let allHostsMustBeEvaluated: Bool
    /// The evaluators by host.
    public let evaluators: [String: any ServerTrustEvaluating]

    /// Creates a manager.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether servers without an evaluator are refused; `true` by default.
    ///   - evaluators: The evaluators by host, such as `api.example.com` or `*.example.com`.
    public init(allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        self.evaluators = evaluators
    }

    /// Returns the evaluator of a host.
    ///
    /// - Parameter host: The host.
    /// - Returns: The evaluator; `nil` if the host has no evaluator. The server is then checked against the system's
    ///   trusted certificates.
    /// - Throws: `AFError.serverTrustEvaluationFailed` if the server must be refused.
    open func serverTrustEvaluator(forHost host: String) throws -> (any ServerTrustEvaluating)? {
        do {
            return try byHost.serverTrustEvaluator(forHost: host)
        } catch {
            throw AFError(error)
        }
    }

    private var byHost: Bluebonnet.ServerTrustManager {
        Bluebonnet.ServerTrustManager(allHostsMustBeEvaluated: allHostsMustBeEvaluated, evaluators: evaluators)
    }

    var base: Bluebonnet.ServerTrustManager {
        guard type(of: self) != ServerTrustManager.self else { return byHost }
        return Bluebonnet.ServerTrustManager(allHostsMustBeEvaluated: allHostsMustBeEvaluated) { host in
            try self.serverTrustEvaluator(forHost: host)
        }
    }
}

extension Error {
    /// Returns this error as an `AFError`, or stops the program if the conversion is not possible.
    ///
    /// - Parameters:
    ///   - message: The text that the program prints when it stops.
    ///   - file: The file of the call.
    ///   - line: The line of the call.
    /// - Returns: The error.
    public func asAFError(
        orFailWith message: @autoclosure () -> String, file: StaticString = #file, line: UInt = #line
    ) -> AFError {
        guard let error = asAFError else { fatalError(message(), file: file, line: line) }
        return error
    }

    func asAFError(or other: @autoclosure () -> AFError) -> AFError { asAFError ?? other() }
}
