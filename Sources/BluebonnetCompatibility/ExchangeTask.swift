import BluebonnetCallbacks
import Foundation
import FoundationNetworking

/// A `URLSessionTask` that describes an attempt of a request.
///
/// The task does not belong to a `URLSession`. If you suspend, resume or cancel the task, its request is suspended,
/// resumed or cancelled. Tasks of the same attempt are equal.
// Safety: all stored properties are constants of `Sendable` types, as the superclass demands.
final class ExchangeTask: URLSessionDataTask, @unchecked Sendable {
    private let base: any Bluebonnet.Request
    private let number: Int
    private let sent: URLRequest
    private let received: HTTPURLResponse?

    init(of base: any Bluebonnet.Request, number: Int? = nil, request: HTTPRequest, response: HTTPResponse? = nil) {
        self.base = base
        self.number = number ?? max(base.attempts.count - 1, 0)
        sent = URLRequest(request)
        received = response?.urlResponse
        super.init()
    }

    override var taskIdentifier: Int { Int(truncatingIfNeeded: base.id.number) &* 256 &+ number }
    override var originalRequest: URLRequest? { sent }
    override var currentRequest: URLRequest? { sent }
    override var response: URLResponse? { received ?? (isLatest ? base.response?.urlResponse : nil) }
    /// An error of the exchange, and not one of a validation or a serializer.
    override var error: (any Error)? {
        guard isLatest, let error = base.error else { return nil }
        let told = AFError(error)
        return told.isSessionTaskError || told.isExplicitlyCancelledError ? error.systemError : nil
    }
    private var isLatest: Bool { number >= base.attempts.count - 1 }
    override var countOfBytesReceived: Int64 { base.downloadProgress.completed }
    override var countOfBytesExpectedToReceive: Int64 { base.downloadProgress.total ?? -1 }
    override var countOfBytesSent: Int64 { base.uploadProgress.completed }
    override var countOfBytesExpectedToSend: Int64 { base.uploadProgress.total ?? -1 }
    override var state: URLSessionTask.State {
        switch base.state {
        case .initialized, .suspended: .suspended
        case .resumed: .running
        case .cancelled: .canceling
        case .finished: .completed
        }
    }

    override func isEqual(_ object: Any?) -> Bool {
        (object as? ExchangeTask).map { $0.base.id == base.id && $0.number == number } ?? false
    }
    override var hash: Int { taskIdentifier }

    override func resume() { base.resume() }
    override func suspend() { base.suspend() }
    override func cancel() { base.cancel() }
}

extension RequestError {
    /// The matching `URLError`; this error itself if no `URLError` matches.
    var systemError: any Error {
        if let urlError { return urlError }
        return self
    }
}
