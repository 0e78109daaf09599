public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

/// A sequence of values that a request hands out.
public struct StreamOf<Element: Sendable>: AsyncSequence, Sendable {
    /// What happens to values that the reader has not taken yet.
    public typealias BufferingPolicy = AsyncStream<Element>.Continuation.BufferingPolicy

    private let base: any AsyncSequence<Element, Never> & Sendable

    init<Base: AsyncSequence & Sendable>(
        _ base: Base, _ transform: @escaping @Sendable (Base.Element) -> Element
    ) where Base.Failure == Never, Base.AsyncIterator: SendableMetatype, Base.Element: Sendable {
        self.base = base.map { transform($0) }
    }

    /// Returns an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator()) }

    /// The iterator of a sequence of values that a request hands out.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: any AsyncIteratorProtocol<Element, Never>

        /// Returns the next value, or `nil` at the end.
        public mutating func next() async -> Element? { await base.next(isolation: #isolation) }
    }
}

/// A stream request whose body is read with sequences.
public struct DataStreamTask: Sendable {
    /// A sequence of the elements of a stream.
    public typealias Stream<Success: Sendable, Failure: Error> = StreamOf<DataStreamRequest.Stream<Success, Failure>>

    private let base: Bluebonnet.DataStreamTask

    init(_ base: Bluebonnet.DataStreamTask) { self.base = base }

    /// Returns a sequence of the pieces of the body, and of the completion.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether leaving the loop cancels the request; `true` by default.
    ///   - bufferingPolicy: Ignored; a slow loop slows the server down.
    /// - Returns: The sequence.
    public func streamingData(
        automaticallyCancelling: Bool = true, bufferingPolicy: Stream<Data, Never>.BufferingPolicy = .unbounded
    ) -> Stream<Data, Never> {
        StreamOf(base.streamingData(automaticallyCancelling: automaticallyCancelling)) { .init($0) }
    }

    /// Returns a sequence of the pieces of the body as text, and of the completion.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether leaving the loop cancels the request; `true` by default.
    ///   - bufferingPolicy: Ignored; a slow loop slows the server down.
    /// - Returns: The sequence.
    public func streamingStrings(
        automaticallyCancelling: Bool = true, bufferingPolicy: Stream<String, Never>.BufferingPolicy = .unbounded
    ) -> Stream<String, Never> {
        StreamOf(base.streamingStrings(automaticallyCancelling: automaticallyCancelling)) { .init($0) }
    }

    /// Returns a sequence of the values of a body of JSON values, and of the completion.
    ///
    /// - Parameters:
    ///   - type: The type of the values; usually, the compiler infers it.
    ///   - automaticallyCancelling: Whether leaving the loop cancels the request; `true` by default.
    ///   - bufferingPolicy: Ignored; a slow loop slows the server down.
    /// - Returns: The sequence.
    public func streamingDecodables<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, automaticallyCancelling: Bool = true,
        bufferingPolicy: Stream<Value, AFError>.BufferingPolicy = .unbounded
    ) -> Stream<Value, AFError> {
        StreamOf(
            base.streamingDecodables(type, decoder: JSONDecoder(), automaticallyCancelling: automaticallyCancelling)
        ) { .init($0, mapError: AFError.init) }
    }

    /// Returns a sequence of values that a serializer makes of the pieces of the body, and of the completion.
    ///
    /// - Parameters:
    ///   - serializer: The serializer.
    ///   - automaticallyCancelling: Whether leaving the loop cancels the request; `true` by default.
    ///   - bufferingPolicy: Ignored; a slow loop slows the server down.
    /// - Returns: The sequence.
    public func streamingResponses<Serializer: DataStreamSerializer>(
        serializedUsing serializer: Serializer, automaticallyCancelling: Bool = true,
        bufferingPolicy: Stream<Serializer.SerializedObject, AFError>.BufferingPolicy = .unbounded
    ) -> Stream<Serializer.SerializedObject, AFError> {
        StreamOf(base.streamingResponses(using: serializer, automaticallyCancelling: automaticallyCancelling)) {
            .init($0, mapError: AFError.init)
        }
    }

    /// Cancels the request.
    public func cancel() { base.cancel() }

    /// Starts the request, or continues it after `suspend()`.
    public func resume() { base.resume() }

    /// Suspends the request.
    public func suspend() { base.suspend() }
}

extension DataStreamRequest {
    /// Returns a task that reads the body with sequences.
    public func streamTask() -> DataStreamTask { DataStreamTask(streamBase.streamTask()) }
}

// MARK: Sequences of requests

extension Request {
    /// Returns a sequence of the progress of the request's body.
    ///
    /// - Parameter bufferingPolicy: What happens to values that the loop has not taken yet.
    /// - Returns: The sequence.
    public func uploadProgress(
        bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .unbounded
    ) -> StreamOf<Progress> {
        StreamOf(base.uploadProgressUpdates(bufferingPolicy: .init(bufferingPolicy))) { Progress($0) }
    }

    /// Returns a sequence of the progress of the response's body.
    ///
    /// - Parameter bufferingPolicy: What happens to values that the loop has not taken yet.
    /// - Returns: The sequence.
    public func downloadProgress(
        bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .unbounded
    ) -> StreamOf<Progress> {
        StreamOf(base.downloadProgressUpdates(bufferingPolicy: .init(bufferingPolicy))) { Progress($0) }
    }

    /// Returns a sequence of the requests that are made.
    ///
    /// - Parameter bufferingPolicy: What happens to values that the loop has not taken yet.
    /// - Returns: The sequence.
    public func urlRequests(
        bufferingPolicy: StreamOf<URLRequest>.BufferingPolicy = .unbounded
    ) -> StreamOf<URLRequest> {
        StreamOf(base.httpRequests(bufferingPolicy: .init(bufferingPolicy))) { URLRequest($0) }
    }

    /// Returns a sequence of tasks that describe the exchanges.
    ///
    /// - Parameter bufferingPolicy: What happens to values that the loop has not taken yet.
    /// - Returns: The sequence.
    public func urlSessionTasks(
        bufferingPolicy: StreamOf<URLSessionTask>.BufferingPolicy = .unbounded
    ) -> StreamOf<URLSessionTask> {
        let base = base
        return StreamOf(base.httpRequests(bufferingPolicy: .init(bufferingPolicy))) {
            ExchangeTask(of: base, request: $0)
        }
    }

    /// Returns a sequence of `curl` commands that make the requests.
    ///
    /// Secret values are hidden.
    ///
    /// - Parameter bufferingPolicy: What happens to values that the loop has not taken yet.
    /// - Returns: The sequence.
    public func cURLDescriptions(
        bufferingPolicy: StreamOf<String>.BufferingPolicy = .unbounded
    ) -> StreamOf<String> {
        StreamOf(base.cURLDescriptions(bufferingPolicy: .init(bufferingPolicy))) { $0 }
    }

    /// Returns a sequence of the heads of the responses.
    ///
    /// - Parameter bufferingPolicy: What happens to values that the loop has not taken yet.
    /// - Returns: The sequence.
    public func httpResponses(
        bufferingPolicy: StreamOf<HTTPURLResponse>.BufferingPolicy = .unbounded
    ) -> StreamOf<HTTPURLResponse> {
        StreamOf(base.httpResponses(bufferingPolicy: .init(bufferingPolicy))) { $0.urlResponse }
    }

    /// Calls an async closure with the head of each response, and asks it whether the request goes on.
    ///
    /// - Parameter handler: The closure. The body is not received before it returns.
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
    /// - Parameter handler: The closure. The body is not received before it returns.
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
