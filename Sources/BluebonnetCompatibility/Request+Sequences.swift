import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

extension Request {
    /// Returns a sequence of the upload progress of the request's body.
    ///
    /// - Parameter bufferingPolicy: The policy for values that the loop has not read yet; all values are kept by
    ///   default.
    /// - Returns: The sequence.
    public func uploadProgress(
        bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .unbounded
    ) -> StreamOf<Progress> {
        base.uploadProgressUpdates(bufferingPolicy: .init(bufferingPolicy)).mapped { Progress($0) }
    }

    /// Returns a sequence of the download progress of the response's body.
    ///
    /// - Parameter bufferingPolicy: The policy for values that the loop has not read yet; all values are kept by
    ///   default.
    /// - Returns: The sequence.
    public func downloadProgress(
        bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .unbounded
    ) -> StreamOf<Progress> {
        base.downloadProgressUpdates(bufferingPolicy: .init(bufferingPolicy)).mapped { Progress($0) }
    }

    /// Returns a sequence that contains the request of each attempt, but not the requests of redirects.
    ///
    /// - Parameter bufferingPolicy: The policy for values that the loop has not read yet; all values are kept by
    ///   default.
    /// - Returns: The sequence.
    public func urlRequests(
        bufferingPolicy: StreamOf<URLRequest>.BufferingPolicy = .unbounded
    ) -> StreamOf<URLRequest> {
        base.httpRequests(bufferingPolicy: .init(bufferingPolicy)).mapped { $0.isRedirect ? nil : URLRequest($0) }
    }

    /// Returns a sequence of tasks that describe the attempts.
    ///
    /// - Parameter bufferingPolicy: The policy for values that the loop has not read yet; all values are kept by
    ///   default.
    /// - Returns: The sequence.
    public func urlSessionTasks(
        bufferingPolicy: StreamOf<URLSessionTask>.BufferingPolicy = .unbounded
    ) -> StreamOf<URLSessionTask> {
        // The sequence ends only when the request is released.
        base.httpRequests(bufferingPolicy: .init(bufferingPolicy)).mapped { [weak base] request in
            request.isRedirect ? nil : base.map { AttemptDescription(of: $0, request: request).task }
        }
    }

    /// Returns a sequence of `curl` commands for the requests.
    ///
    /// The commands do not contain secrets.
    ///
    /// - Parameter bufferingPolicy: The policy for values that the loop has not read yet; all values are kept by
    ///   default.
    /// - Returns: The sequence.
    public func cURLDescriptions(
        bufferingPolicy: StreamOf<String>.BufferingPolicy = .unbounded
    ) -> StreamOf<String> {
        base.cURLDescriptions(bufferingPolicy: .init(bufferingPolicy))
    }

    /// Returns a sequence of the heads of the responses.
    ///
    /// - Parameter bufferingPolicy: The policy for values that the loop has not read yet; all values are kept by
    ///   default.
    /// - Returns: The sequence.
    public func httpResponses(
        bufferingPolicy: StreamOf<HTTPURLResponse>.BufferingPolicy = .unbounded
    ) -> StreamOf<HTTPURLResponse> {
        base.httpResponses(bufferingPolicy: .init(bufferingPolicy)).mapped { $0.urlResponse }
    }

    /// Calls an async closure with the head of each response; the closure decides whether the body is received.
    ///
    /// - Parameter handler: The closure. The body is received after the closure has returned.
    /// - Returns: This request, for chaining.
    @_disfavoredOverload @discardableResult public func onHTTPResponse(
        perform handler: @escaping @Sendable (HTTPURLResponse) async -> ResponseDisposition
    ) -> Self {
        also {
            $0.onHTTPResponse { (head: HTTPResponse) async -> ResponseDisposition in await handler(head.urlResponse) }
        }
    }

    /// Calls an async closure with the head of each response.
    ///
    /// - Parameter handler: The closure. The body is received after the closure has returned.
    /// - Returns: This request, for chaining.
    @_disfavoredOverload @discardableResult public func onHTTPResponse(
        perform handler: @escaping @Sendable (HTTPURLResponse) async -> Void
    ) -> Self {
        also { $0.onHTTPResponse { (head: HTTPResponse) async -> Void in await handler(head.urlResponse) } }
    }
}

extension StreamBufferingPolicy {
    fileprivate init<Element>(_ policy: AsyncStream<Element>.Continuation.BufferingPolicy) {
        switch policy {
        case .unbounded: self = .unbounded
        case .bufferingNewest(let count): self = .newest(count)
        case .bufferingOldest(let count): self = .oldest(count)
        @unknown default: self = .unbounded
        }
    }
}
