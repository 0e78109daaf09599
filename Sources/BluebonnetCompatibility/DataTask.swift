public import BluebonnetCallbacks
public import Foundation
import FoundationNetworking

/// A response with a result that fails with `AFError`: a `DataResponse` or a `DownloadResponse`.
public protocol AwaitedResponse<Success> {
    /// The type of the value.
    associatedtype Success

    /// The value or the error.
    var result: Result<Success, AFError> { get }
}

extension DataResponse: AwaitedResponse where Failure == AFError {}
extension DownloadResponse: AwaitedResponse where Failure == AFError {}

/// A task with which you await the response of a data request.
public typealias DataTask<Value: Sendable> = ResponseTask<AFDataResponse<Value>>
/// A task with which you await the response of a download request.
public typealias DownloadTask<Value: Sendable> = ResponseTask<AFDownloadResponse<Value>>

/// A task with which you await the response of a request.
public struct ResponseTask<Response: AwaitedResponse & Sendable>: Sendable {
    let request: Request
    let answer: @Sendable () async -> Response

    /// The response; waits until the request has ended.
    public var response: Response { get async { await answer() } }

    /// The result; waits until the request has ended.
    public var result: Result<Response.Success, AFError> { get async { await response.result } }

    /// The value; waits until the request has ended, and throws an `AFError` if the request failed.
    public var value: Response.Success { get async throws { try await response.result.get() } }

    /// Cancels the request.
    public func cancel() { request.cancel() }

    /// Starts the request, or continues it after `suspend()`.
    public func resume() { request.resume() }

    /// Suspends the request.
    public func suspend() { request.suspend() }
}

extension DataRequest {
    /// Returns a task for the response, whose value is the body.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether the request is cancelled when the task that awaits the value is cancelled;
    ///     `true` by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    /// - Returns: The task, which provides the response, the result and the value.
    public func serializingData(
        automaticallyCancelling: Bool = true, dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head]
    ) -> DataTask<Data> {
        awaiting(
            DataResponseSerializer(
                dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling)
    }

    /// Returns a task for the response, whose value is the body as text.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether the request is cancelled when the task that awaits the value is cancelled;
    ///     `true` by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - encoding: The encoding of the text; by default, the encoding is detected.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    /// - Returns: The task, which provides the response, the result and the value.
    public func serializingString(
        automaticallyCancelling: Bool = true, dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        encoding: String.Encoding? = nil, emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head]
    ) -> DataTask<String> {
        awaiting(
            StringResponseSerializer(
                dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling)
    }

    /// Returns a task for the response, whose value is the decoded body.
    ///
    /// - Parameters:
    ///   - type: The type of the value; usually, the compiler infers it.
    ///   - automaticallyCancelling: Whether the request is cancelled when the task that awaits the value is cancelled;
    ///     `true` by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - decoder: The decoder; a `JSONDecoder` by default.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    /// - Returns: The task, which provides the response, the result and the value.
    public func serializingDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, automaticallyCancelling: Bool = true,
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(), decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head]
    ) -> DataTask<Value> {
        awaiting(
            DecodableResponseSerializer<Value>(
                dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling)
    }

    /// Returns a task for the response, whose value a serializer creates.
    ///
    /// - Parameters:
    ///   - serializer: The serializer. It is also called if the request has failed.
    ///   - automaticallyCancelling: Whether the request is cancelled when the task that awaits the value is cancelled;
    ///     `true` by default.
    /// - Returns: The task, which provides the response, the result and the value.
    public func serializingResponse<Serializer: DataResponseSerializerProtocol>(
        using serializer: Serializer, automaticallyCancelling: Bool = true
    ) -> DataTask<Serializer.SerializedObject> where Serializer.SerializedObject: Sendable {
        let bridge = SerializerBridge(data: serializer)
        let task = dataBase.serializingResponse(using: bridge, automaticallyCancelling: automaticallyCancelling)
        return DataTask(request: resumedIfSuspended()) {
            let answer = await task.response
            return AFDataResponse(answer, of: self, result: bridge.result(answer, of: self))
        }
    }

    private func awaiting<Serializer: Bluebonnet.ResponseSerializer>(
        _ serializer: Serializer, _ automaticallyCancelling: Bool
    ) -> DataTask<Serializer.SerializedObject> {
        let task = dataBase.serializingResponse(using: serializer, automaticallyCancelling: automaticallyCancelling)
        return DataTask(request: resumedIfSuspended()) { AFDataResponse(await task.response, of: self) }
    }
}
