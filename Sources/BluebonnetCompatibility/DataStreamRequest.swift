public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

// Safety: all stored properties are constants of `Sendable` types.
/// A request that delivers the body of the response in pieces, as they arrive.
public final class DataStreamRequest: Request, @unchecked Sendable {
    /// A closure that receives the elements of a stream.
    ///
    /// If the closure throws an error, the request is cancelled.
    public typealias Handler<Success: Sendable, Failure: Error> = @Sendable (Stream<Success, Failure>) throws -> Void
    /// A closure that decides whether a response is valid.
    ///
    /// The closure receives the request and the response head.
    public typealias Validation = @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse) -> ValidationResult

    let streamBase: Bluebonnet.DataStreamRequest

    init(_ base: Bluebonnet.DataStreamRequest) {
        streamBase = base
        super.init(base)
    }

    /// The value from which the request was created.
    public var convertible: any URLRequestConvertible { Converted.of(base.convertible) }

    /// Whether the request is cancelled when an element of the stream cannot be serialized.
    public var automaticallyCancelOnStreamError: Bool { streamBase.automaticallyCancelOnStreamError }

    /// Adds a closure that decides whether a response is valid.
    ///
    /// - Parameter validation: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func validate(_ validation: @escaping Validation) -> Self {
        streamBase.validate { [weak self] request, response in
            self?.latest.withLock { $0.response = response }
            return validation(self?.lastRequest ?? request.map { URLRequest($0) }, response.urlResponse)
        }
        return self
    }

    /// Returns a stream from which the body can be read, and starts the request.
    ///
    /// - Parameter bufferSize: The number of unread bytes at which the stream stops receiving bytes; 1,024 by default.
    /// - Returns: The stream.
    public func asInputStream(bufferSize: Int = 1_024) -> InputStream? {
        defer { resume() }
        return streamBase.asInputStream(bufferSize: bufferSize)
    }

    // MARK: Streams

    /// Calls a closure with each piece of the body, and with the completion.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - stream: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency
    public func responseStream(on queue: DispatchQueue = .main, stream: @escaping Handler<Data, Never>) -> Self {
        streamBase.responseStream(on: queue, stream: handing(stream))
        return resumedIfSuspended()
    }

    /// Calls a closure with the value that a serializer creates from each piece of the body, and with the completion.
    ///
    /// - Parameters:
    ///   - serializer: The serializer that creates the values.
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - stream: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responseStream<Serializer: DataStreamSerializer>(
        using serializer: Serializer, on queue: DispatchQueue = .main,
        stream: @escaping Handler<Serializer.SerializedObject, AFError>
    ) -> Self {
        streamBase.responseStream(using: serializer, on: queue, stream: handing(stream))
        return resumedIfSuspended()
    }

    /// Calls a closure with each piece of the body as text, and with the completion.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - stream: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency
    public func responseStreamString(on queue: DispatchQueue = .main, stream: @escaping Handler<String, Never>) -> Self
    {
        streamBase.responseStreamString(on: queue, stream: handing(stream))
        return resumedIfSuspended()
    }

    /// Calls a closure with a decoded value for each line of the body, and with the completion.
    ///
    /// - Parameters:
    ///   - type: The type of the values; usually, the compiler infers it.
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - decoder: The decoder; a `JSONDecoder` by default.
    ///   - preprocessor: The preprocessor; none by default. With a preprocessor, each received piece of the body is
    ///     preprocessed and decoded instead of each line.
    ///   - stream: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responseStreamDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, on queue: DispatchQueue = .main,
        using decoder: any DataDecoder = JSONDecoder(),
        preprocessor: (any DataPreprocessor)? = nil, stream: @escaping Handler<Value, AFError>
    ) -> Self {
        streamBase.responseStreamDecodable(
            of: type, on: queue, using: decoder, preprocessor: preprocessor, stream: handing(stream))
        return resumedIfSuspended()
    }

    /// Returns a handler of `Bluebonnet` that calls the user's handler.
    private func handing<Success, Failure>(
        _ handler: @escaping Handler<Success, Failure>
    ) -> Bluebonnet.DataStreamRequest.Handler<Success, Failure> {
        // The user's closures may refer to this object without retaining the object.
        { part in try withExtendedLifetime(self) { try handler(Stream(part)) } }
    }
}

extension DataStreamRequest {
    /// An element of a stream: a value, an error, or the completion.
    public struct Stream<Success: Sendable, Failure: Error>: Sendable {
        /// The element.
        public let event: Event<Success, Failure>
        /// The token that cancels the request.
        public let token: CancellationToken

        /// The value or the error; `nil` for the completion.
        public var result: Result<Success, Failure>? {
            if case .stream(let result) = event { result } else { nil }
        }
        /// The value, or `nil` if the event is an error or the completion.
        public var value: Success? { try? result?.get() }
        /// The error, or `nil` if the event is a value or the completion.
        public var error: Failure? { if case .failure(let error) = result { error } else { nil } }
        /// The completion, or `nil` if the event is a value or an error.
        public var completion: Completion? { if case .complete(let completion) = event { completion } else { nil } }

        /// Cancels the request.
        public func cancel() { token.cancel() }

        init(_ base: Bluebonnet.DataStreamRequest.Stream<Success, Failure>) { self.init(base) { $0 } }

        init<Other>(
            _ base: Bluebonnet.DataStreamRequest.Stream<Success, Other>, mapError: (Other) -> Failure
        ) {
            event = Event(base.event, mapError: mapError)
            token = CancellationToken(base)
        }
    }

    /// The content of an element of a stream.
    public enum Event<Success: Sendable, Failure: Error>: Sendable {
        /// A value or an error.
        case stream(Result<Success, Failure>)
        /// The end of the stream.
        case complete(Completion)

        init<Other>(_ base: Bluebonnet.DataStreamRequest.Event<Success, Other>, mapError: (Other) -> Failure) {
            switch base {
            case .stream(let result): self = .stream(result.mapError(mapError))
            case .complete(let completion): self = .complete(Completion(completion))
            }
        }
    }

    /// The end of a stream.
    public struct Completion: Sendable {
        /// The latest request that was sent.
        public let request: URLRequest?
        /// The head of the latest response.
        public let response: HTTPURLResponse?
        /// The metrics of the latest exchange.
        public let metrics: URLSessionTaskMetrics?
        /// The error of the request; `nil` if the body is complete.
        public let error: AFError?

        init(_ base: Bluebonnet.DataStreamRequest.Completion) {
            request = base.request.map { URLRequest($0) }
            response = base.response?.urlResponse
            metrics = base.metrics
            error = base.error.map { AFError($0) }
        }
    }

    /// A token that cancels the request of a stream.
    public struct CancellationToken: Sendable {
        private let action: @Sendable () -> Void

        fileprivate init<Success, Failure>(_ base: Bluebonnet.DataStreamRequest.Stream<Success, Failure>) {
            action = { base.cancel() }
        }

        /// Cancels the request.
        public func cancel() { action() }
    }
}
