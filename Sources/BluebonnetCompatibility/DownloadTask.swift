public import BluebonnetCallbacks
public import Foundation
import FoundationNetworking

extension DownloadRequest {
    /// Returns a task whose value is the content of the file.
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
    ) -> DownloadTask<Data> {
        awaiting(
            DataResponseSerializer(
                dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling)
    }

    /// Returns a task for the response, whose value is the content of the file as text.
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
    ) -> DownloadTask<String> {
        awaiting(
            StringResponseSerializer(
                dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling)
    }

    /// Returns a task for the response, whose value is the decoded content of the file.
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
    ) -> DownloadTask<Value> {
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
    public func serializingDownload<Serializer: DownloadResponseSerializerProtocol>(
        using serializer: Serializer, automaticallyCancelling: Bool = true
    ) -> DownloadTask<Serializer.SerializedObject> where Serializer.SerializedObject: Sendable {
        let bridge = SerializerBridge(file: serializer)
        let task = downloadBase.serializingFile(using: bridge, automaticallyCancelling: automaticallyCancelling)
        return DownloadTask(request: resumedIfSuspended()) {
            let answer = await task.response
            return AFDownloadResponse(answer, of: self, result: bridge.result(answer, of: self))
        }
    }

    /// Returns a task for the response, whose value is the URL of the file; the same as `serializingDownloadedFileURL`.
    ///
    /// - Parameter automaticallyCancelling: Whether the request is cancelled when the task that awaits the value is
    ///   cancelled; `true` by default.
    /// - Returns: The task, which provides the response, the result and the value.
    public func serializingURL(automaticallyCancelling: Bool = true) -> DownloadTask<URL> {
        serializingDownloadedFileURL(automaticallyCancelling: automaticallyCancelling)
    }

    /// Returns a task for the response, whose value is the URL of the file.
    ///
    /// - Parameter automaticallyCancelling: Whether the request is cancelled when the task that awaits the value is
    ///   cancelled; `true` by default.
    /// - Returns: The task, which provides the response, the result and the value.
    public func serializingDownloadedFileURL(automaticallyCancelling: Bool = true) -> DownloadTask<URL> {
        serializingDownload(using: URLResponseSerializer(), automaticallyCancelling: automaticallyCancelling)
    }

    private func awaiting<Serializer: Bluebonnet.ResponseSerializer>(
        _ serializer: Serializer, _ automaticallyCancelling: Bool
    ) -> DownloadTask<Serializer.SerializedObject> {
        let task = downloadBase.serializingResponse(using: serializer, automaticallyCancelling: automaticallyCancelling)
        return DownloadTask(request: resumedIfSuspended()) { AFDownloadResponse(await task.response, of: self) }
    }
}
