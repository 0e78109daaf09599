public import BluebonnetCallbacks
public import Foundation
import FoundationNetworking

// Safety: all stored properties are constants of `Sendable` types.
/// A request whose complete response is serialized: a `DataRequest` or a `DownloadRequest`.
public class SerializedRequest<Kind: SerializingRequest>: Request, @unchecked Sendable {
    let kind: Kind

    init(_ kind: Kind) {
        self.kind = kind
        super.init(kind)
    }

    // MARK: Responses

    /// Calls a closure with the response, with its body.
    ///
    /// - Parameters:
    ///   - queue: The queue of the call; the main queue by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responseData(
        queue: DispatchQueue = .main, dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @Sendable (ResponseOf<Kind, Data, AFError>) -> Void
    ) -> Self {
        let serializer = DataResponseSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return respond(queue, serializer, completionHandler)
    }

    /// Calls a closure with the response, with its body as text.
    ///
    /// - Parameters:
    ///   - queue: The queue of the call; the main queue by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - encoding: The encoding of the text; by default, the response states it.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responseString(
        queue: DispatchQueue = .main, dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        encoding: String.Encoding? = nil, emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @Sendable (ResponseOf<Kind, String, AFError>) -> Void
    ) -> Self {
        let serializer = StringResponseSerializer(
            dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return respond(queue, serializer, completionHandler)
    }

    /// Calls a closure with the response, with its body as parsed JSON.
    ///
    /// - Parameters:
    ///   - queue: The queue of the call; the main queue by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    ///   - options: The options of the parser; by default, any JSON value is allowed.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responseJSON(
        queue: DispatchQueue = .main, dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head],
        options: JSONSerialization.ReadingOptions = .fragmentsAllowed,
        completionHandler: @escaping @Sendable (ResponseOf<Kind, Any, AFError>) -> Void
    ) -> Self {
        let serializer = JSONObjectSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods, options: options)
        return respond(queue, serializer) { completionHandler($0.map { $0 }) }
    }

    /// Calls a closure with the response, with its decoded body.
    ///
    /// - Parameters:
    ///   - type: The type of the value; usually, the compiler infers it.
    ///   - queue: The queue of the call; the main queue by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - decoder: The decoder; JSON by default.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, queue: DispatchQueue = .main,
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(), decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @Sendable (ResponseOf<Kind, Value, AFError>) -> Void
    ) -> Self {
        let serializer = DecodableResponseSerializer<Value>(
            dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return respond(queue, serializer, completionHandler)
    }

    // MARK: Tasks

    /// Awaits the response, with its body.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether cancelling the waiting task cancels the request; `true` by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    /// - Returns: The task, whose value is awaited.
    public func serializingData(
        automaticallyCancelling: Bool = true, dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head]
    ) -> ResponseTask<Kind, Data> {
        awaiting(
            DataResponseSerializer(
                dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling)
    }

    /// Awaits the response, with its body as text.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether cancelling the waiting task cancels the request; `true` by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - encoding: The encoding of the text; by default, the response states it.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    /// - Returns: The task, whose value is awaited.
    public func serializingString(
        automaticallyCancelling: Bool = true, dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        encoding: String.Encoding? = nil, emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head]
    ) -> ResponseTask<Kind, String> {
        awaiting(
            StringResponseSerializer(
                dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling)
    }

    /// Awaits the response, with its decoded body.
    ///
    /// - Parameters:
    ///   - type: The type of the value; usually, the compiler infers it.
    ///   - automaticallyCancelling: Whether cancelling the waiting task cancels the request; `true` by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - decoder: The decoder; JSON by default.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    /// - Returns: The task, whose value is awaited.
    public func serializingDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, automaticallyCancelling: Bool = true,
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(), decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head]
    ) -> ResponseTask<Kind, Value> {
        awaiting(
            DecodableResponseSerializer<Value>(
                dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling)
    }

    func respond<Serializer: Bluebonnet.ResponseSerializer>(
        _ queue: DispatchQueue, _ serializer: Serializer,
        _ handler: @escaping @Sendable (ResponseOf<Kind, Serializer.SerializedObject, AFError>) -> Void
    ) -> Self {
        respond(
            queue, kind.serializingResponse(using: serializer, automaticallyCancelling: false),
            { ResponseOf($0, of: self) }, handler)
    }

    /// Calls a handler with a response, and starts the request, even if it is suspended.
    func respond<Value: Sendable, Response: Sendable>(
        _ queue: DispatchQueue, _ task: @autoclosure () -> SerializingTask<Kind, Value>,
        _ response: @escaping @Sendable (SerializedResponse<Kind, Value, RequestError>) -> Response,
        _ handler: @escaping @Sendable (Response) -> Void
    ) -> Self {
        _ = kind.handle(on: queue, handler) { answer in
            // The user's closures may refer to this object without retaining it.
            task().onCompletion { answered in withExtendedLifetime(self) { answer(response(answered)) } }
        }
        return resumedIfSuspended()
    }

    private func awaiting<Serializer: Bluebonnet.ResponseSerializer>(
        _ serializer: Serializer, _ automaticallyCancelling: Bool
    ) -> ResponseTask<Kind, Serializer.SerializedObject> {
        let task = kind.serializingResponse(using: serializer, automaticallyCancelling: automaticallyCancelling)
        return ResponseTask(request: resumedIfSuspended()) { ResponseOf(await task.response, of: self) }
    }
}

/// A data request whose response is awaited.
public typealias DataTask<Value: Sendable> = ResponseTask<Bluebonnet.DataRequest, Value>
/// A download request whose response is awaited.
public typealias DownloadTask<Value: Sendable> = ResponseTask<Bluebonnet.DownloadRequest, Value>

/// A request whose response is awaited: a `DataTask` or a `DownloadTask`.
public struct ResponseTask<Kind: SerializingRequest, Value: Sendable>: Sendable {
    let request: Request
    let answer: @Sendable () async -> ResponseOf<Kind, Value, AFError>

    /// The response, once the request has ended.
    public var response: ResponseOf<Kind, Value, AFError> { get async { await answer() } }

    /// The result, once the request has ended.
    public var result: Result<Value, AFError> { get async { await response.result } }

    /// The value, once the request has ended; throws an `AFError`.
    public var value: Value { get async throws { try await response.result.get() } }

    /// Cancels the request.
    public func cancel() { request.cancel() }

    /// Starts the request, or continues it after `suspend()`.
    public func resume() { request.resume() }

    /// Suspends the request.
    public func suspend() { request.suspend() }
}
