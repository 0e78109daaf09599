import BluebonnetCallbacks
import Foundation
import FoundationNetworking

/// An attempt of a request, which a `URLSessionTask` describes.
struct AttemptDescription {
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
    var task: any AttemptTask {
        base is Bluebonnet.DownloadRequest ? DownloadAttemptTask(self) : DataAttemptTask(self)
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
        (object as? any AttemptTask).map { $0.attempt.base.id == base.id && $0.attempt.number == number } ?? false
    }
}

/// A `URLSessionTask` that describes an attempt of a request.
///
/// The task does not belong to a `URLSession`. If you suspend, resume or cancel the task, its request is suspended,
/// resumed or cancelled. Tasks of the same attempt are equal.
///
/// There are two classes because `URLSession` has one class for downloads and one for other requests. A class cannot
/// be generic in its superclass.
protocol AttemptTask: URLSessionTask {
    var attempt: AttemptDescription { get }
}

// Safety: all stored properties are constants of `Sendable` types, as the superclass demands.
/// A task that describes an attempt of a request that is not a download.
final class DataAttemptTask: URLSessionDataTask, AttemptTask, @unchecked Sendable {
    let attempt: AttemptDescription

    init(_ attempt: AttemptDescription) {
        self.attempt = attempt
        super.init()
    }

    override var taskIdentifier: Int { attempt.identifier }
    override var originalRequest: URLRequest? { attempt.sent }
    override var currentRequest: URLRequest? { attempt.sent }
    override var response: URLResponse? { attempt.response }
    override var error: (any Error)? { attempt.error }
    override var countOfBytesReceived: Int64 { attempt.base.downloadProgress.completed }
    override var countOfBytesExpectedToReceive: Int64 { attempt.base.downloadProgress.total ?? -1 }
    override var countOfBytesSent: Int64 { attempt.base.uploadProgress.completed }
    override var countOfBytesExpectedToSend: Int64 { attempt.base.uploadProgress.total ?? -1 }
    override var state: URLSessionTask.State { attempt.state }
    override func isEqual(_ object: Any?) -> Bool { attempt.isEqual(object) }
    override var hash: Int { attempt.identifier }
    override func resume() { attempt.base.resume() }
    override func suspend() { attempt.base.suspend() }
    override func cancel() { attempt.base.cancel() }
}

// Safety: all stored properties are constants of `Sendable` types, as the superclass demands.
/// A task that describes an attempt of a download.
final class DownloadAttemptTask: URLSessionDownloadTask, AttemptTask, @unchecked Sendable {
    let attempt: AttemptDescription

    init(_ attempt: AttemptDescription) {
        self.attempt = attempt
        super.init()
    }

    override var taskIdentifier: Int { attempt.identifier }
    override var originalRequest: URLRequest? { attempt.sent }
    override var currentRequest: URLRequest? { attempt.sent }
    override var response: URLResponse? { attempt.response }
    override var error: (any Error)? { attempt.error }
    override var countOfBytesReceived: Int64 { attempt.base.downloadProgress.completed }
    override var countOfBytesExpectedToReceive: Int64 { attempt.base.downloadProgress.total ?? -1 }
    override var countOfBytesSent: Int64 { attempt.base.uploadProgress.completed }
    override var countOfBytesExpectedToSend: Int64 { attempt.base.uploadProgress.total ?? -1 }
    override var state: URLSessionTask.State { attempt.state }
    override func isEqual(_ object: Any?) -> Bool { attempt.isEqual(object) }
    override var hash: Int { attempt.identifier }
    override func resume() { attempt.base.resume() }
    override func suspend() { attempt.base.suspend() }
    override func cancel() { attempt.base.cancel() }
}

extension RequestError {
    /// The matching `URLError`; this error itself if no `URLError` matches.
    var systemError: any Error {
        if let urlError { return urlError }
        return self
    }
}
