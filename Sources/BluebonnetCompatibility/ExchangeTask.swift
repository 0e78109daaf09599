import BluebonnetCallbacks
import Foundation
import FoundationNetworking

/// An attempt of a request, which a `URLSessionTask` describes.
struct Exchange {
    let base: any Bluebonnet.Request
    let number: Int
    let sent: URLRequest
    private let received: HTTPURLResponse?

    init(of base: any Bluebonnet.Request, number: Int? = nil, request: HTTPRequest, response: HTTPResponse? = nil) {
        self.base = base
        self.number = number ?? max(base.attempts.count - 1, 0)
        sent = URLRequest(request)
        received = response?.urlResponse
    }

    /// A task that describes the attempt.
    var task: any ExchangeTask {
        base is Bluebonnet.DownloadRequest ? DownloadExchangeTask(self) : DataExchangeTask(self)
    }

    var identifier: Int { Int(truncatingIfNeeded: base.id.number) &* 256 &+ number }
    var response: URLResponse? { received ?? (isLatest ? Request.of(base).response : nil) }
    /// An error of the exchange, and not one of a validation or a serializer.
    var error: (any Error)? {
        guard isLatest, let error = base.error else { return nil }
        let told = AFError(error)
        return told.isSessionTaskError || told.isExplicitlyCancelledError ? error.systemError : nil
    }
    private var isLatest: Bool { number >= base.attempts.count - 1 }
    var state: URLSessionTask.State {
        switch base.state {
        case .initialized, .suspended: .suspended
        case .resumed: .running
        case .cancelled: .canceling
        case .finished: .completed
        }
    }

    func isEqual(_ object: Any?) -> Bool {
        (object as? any ExchangeTask).map { $0.exchange.base.id == base.id && $0.exchange.number == number } ?? false
    }
}

/// A `URLSessionTask` that describes an attempt of a request.
///
/// The task does not belong to a `URLSession`. If you suspend, resume or cancel the task, its request is suspended,
/// resumed or cancelled. Tasks of the same attempt are equal.
///
/// There are two classes because `URLSession` has one class for downloads and one for other requests. A class cannot
/// be generic in its superclass.
protocol ExchangeTask: URLSessionTask {
    var exchange: Exchange { get }
}

// Safety: all stored properties are constants of `Sendable` types, as the superclass demands.
/// A task that describes an attempt of a request that is not a download.
final class DataExchangeTask: URLSessionDataTask, ExchangeTask, @unchecked Sendable {
    let exchange: Exchange

    init(_ exchange: Exchange) {
        self.exchange = exchange
        super.init()
    }

    override var taskIdentifier: Int { exchange.identifier }
    override var originalRequest: URLRequest? { exchange.sent }
    override var currentRequest: URLRequest? { exchange.sent }
    override var response: URLResponse? { exchange.response }
    override var error: (any Error)? { exchange.error }
    override var countOfBytesReceived: Int64 { exchange.base.downloadProgress.completed }
    override var countOfBytesExpectedToReceive: Int64 { exchange.base.downloadProgress.total ?? -1 }
    override var countOfBytesSent: Int64 { exchange.base.uploadProgress.completed }
    override var countOfBytesExpectedToSend: Int64 { exchange.base.uploadProgress.total ?? -1 }
    override var state: URLSessionTask.State { exchange.state }
    override func isEqual(_ object: Any?) -> Bool { exchange.isEqual(object) }
    override var hash: Int { exchange.identifier }
    override func resume() { exchange.base.resume() }
    override func suspend() { exchange.base.suspend() }
    override func cancel() { exchange.base.cancel() }
}

// Safety: all stored properties are constants of `Sendable` types, as the superclass demands.
/// A task that describes an attempt of a download.
final class DownloadExchangeTask: URLSessionDownloadTask, ExchangeTask, @unchecked Sendable {
    let exchange: Exchange

    init(_ exchange: Exchange) {
        self.exchange = exchange
        super.init()
    }

    override var taskIdentifier: Int { exchange.identifier }
    override var originalRequest: URLRequest? { exchange.sent }
    override var currentRequest: URLRequest? { exchange.sent }
    override var response: URLResponse? { exchange.response }
    override var error: (any Error)? { exchange.error }
    override var countOfBytesReceived: Int64 { exchange.base.downloadProgress.completed }
    override var countOfBytesExpectedToReceive: Int64 { exchange.base.downloadProgress.total ?? -1 }
    override var countOfBytesSent: Int64 { exchange.base.uploadProgress.completed }
    override var countOfBytesExpectedToSend: Int64 { exchange.base.uploadProgress.total ?? -1 }
    override var state: URLSessionTask.State { exchange.state }
    override func isEqual(_ object: Any?) -> Bool { exchange.isEqual(object) }
    override var hash: Int { exchange.identifier }
    override func resume() { exchange.base.resume() }
    override func suspend() { exchange.base.suspend() }
    override func cancel() { exchange.base.cancel() }
}

extension RequestError {
    /// The matching `URLError`; this error itself if no `URLError` matches.
    var systemError: any Error {
        if let urlError { return urlError }
        return self
    }
}
