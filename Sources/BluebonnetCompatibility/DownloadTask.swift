public import BluebonnetCallbacks
public import Foundation
import FoundationNetworking

/// A download request whose response is awaited.
public struct DownloadTask<Value: Sendable>: Sendable {
    private typealias Answer = SerializedResponse<Bluebonnet.DownloadRequest, Value, RequestError>

    private let task: SerializingTask<Bluebonnet.DownloadRequest, Value>
    private let finish: @Sendable (Answer) -> AFDownloadResponse<Value>

    /// The response, once the request has ended.
    public var response: DownloadResponse<Value, AFError> { get async { finish(await task.response) } }

    /// The result, once the request has ended.
    public var result: Result<Value, AFError> { get async { await response.result } }

    /// The value, once the request has ended; throws an `AFError`.
    public var value: Value { get async throws { try await response.result.get() } }

    /// Cancels the request.
    public func cancel() { task.cancel() }

    /// Starts the request, or continues it after `suspend()`.
    public func resume() { task.resume() }

    /// Suspends the request.
    public func suspend() { task.suspend() }

    init<Serializer: Bluebonnet.ResponseSerializer>(
        _ request: Bluebonnet.DownloadRequest, _ serializer: Serializer, readsFile: Bool = true,
        automaticallyCancelling: Bool = false
    ) where Serializer.SerializedObject == Value {
        task =
            readsFile
            ? request.serializingResponse(using: serializer, automaticallyCancelling: automaticallyCancelling)
            : request.serializingFile(using: serializer, automaticallyCancelling: automaticallyCancelling)
        finish = { AFDownloadResponse($0, result: $0.result.mapError(AFError.init)) }
    }

    init<Serializer: DownloadResponseSerializerProtocol>(
        _ request: Bluebonnet.DownloadRequest, bridging serializer: Serializer, automaticallyCancelling: Bool = false
    ) where Serializer.SerializedObject == Value {
        let bridge = DownloadBridge(serializer: serializer)
        task = request.serializingFile(using: bridge, automaticallyCancelling: automaticallyCancelling)
        finish = { bridge.response($0) }
    }

    func onCompletion(_ handler: @escaping @Sendable (AFDownloadResponse<Value>) -> Void) {
        task.onCompletion { [finish] in handler(finish($0)) }
    }
}

extension DownloadRequest {
    /// Awaits the response, with its file's content.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether cancelling the waiting task cancels the request; `true` by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    public func serializingData(
        automaticallyCancelling: Bool = true, dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head]
    ) -> DownloadTask<Data> {
        DownloadTask(
            downloadBase,
            DataResponseSerializer(
                dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling: automaticallyCancelling)
    }

    /// Awaits the response, with its body as text.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether cancelling the waiting task cancels the request; `true` by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - encoding: The encoding of the text; by default, the response states it.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    public func serializingString(
        automaticallyCancelling: Bool = true, dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        encoding: String.Encoding? = nil, emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head]
    ) -> DownloadTask<String> {
        DownloadTask(
            downloadBase,
            StringResponseSerializer(
                dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling: automaticallyCancelling)
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
    public func serializingDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, automaticallyCancelling: Bool = true,
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(), decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head]
    ) -> DownloadTask<Value> {
        DownloadTask(
            downloadBase,
            DecodableResponseSerializer<Value>(
                dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling: automaticallyCancelling)
    }

    /// Awaits the response, with a value that a serializer has made.
    ///
    /// - Parameters:
    ///   - serializer: The serializer. It is also called if the request has failed.
    ///   - automaticallyCancelling: Whether cancelling the waiting task cancels the request; `true` by default.
    public func serializingDownload<Serializer: DownloadResponseSerializerProtocol>(
        using serializer: Serializer, automaticallyCancelling: Bool = true
    ) -> DownloadTask<Serializer.SerializedObject> {
        DownloadTask(downloadBase, bridging: serializer, automaticallyCancelling: automaticallyCancelling)
    }

    /// Awaits the response, with its file.
    ///
    /// - Parameter automaticallyCancelling: Whether cancelling the waiting task cancels the request; `true` by default.
    public func serializingDownloadedFileURL(automaticallyCancelling: Bool = true) -> DownloadTask<URL> {
        DownloadTask(
            downloadBase, URLResponseSerializer(), readsFile: false, automaticallyCancelling: automaticallyCancelling)
    }
}
