public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

/// The response of a `DataRequest`, with `AFError` as the type of its errors.
public typealias AFDataResponse<Success> = DataResponse<Success, AFError>

/// The response of a `DownloadRequest`, with `AFError` as the type of its errors.
public typealias AFDownloadResponse<Success> = DownloadResponse<Success, AFError>

/// The response of a `DataRequest`, with its serialized value or an error.
public struct DataResponse<Success, Failure: Error> {
    /// The latest request; `nil` if no request could be created.
    public let request: URLRequest?
    /// The head of the latest response; `nil` if no response was received.
    public let response: HTTPURLResponse?
    /// The body of the latest response; `nil` if the body is empty or was not received.
    public let data: Data?
    /// The metrics of the latest exchange.
    public let metrics: URLSessionTaskMetrics?
    /// The duration of the serialization, in seconds.
    public let serializationDuration: TimeInterval
    /// The value or the error.
    public let result: Result<Success, Failure>

    /// The value; `nil` if there is an error.
    public var value: Success? { result.success }
    /// The error; `nil` if there is a value.
    public var error: Failure? { result.failure }

    /// Creates a response, for tests.
    ///
    /// - Parameters:
    ///   - request: The latest request.
    ///   - response: The head of the latest response.
    ///   - data: The body of the latest response.
    ///   - metrics: The metrics of the latest exchange.
    ///   - serializationDuration: The duration of the serialization, in seconds.
    ///   - result: The value or the error.
    public init(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, metrics: URLSessionTaskMetrics?,
        serializationDuration: TimeInterval, result: Result<Success, Failure>
    ) {
        self.request = request
        self.response = response
        self.data = data
        self.metrics = metrics
        self.serializationDuration = serializationDuration
        self.result = result
    }

    private func with<NewSuccess, NewFailure>(
        _ result: Result<NewSuccess, NewFailure>
    ) -> DataResponse<NewSuccess, NewFailure> {
        DataResponse<NewSuccess, NewFailure>(
            request: request, response: response, data: data, metrics: metrics,
            serializationDuration: serializationDuration, result: result)
    }
}

/// The response of a `DownloadRequest`, with its serialized value or an error.
public struct DownloadResponse<Success, Failure: Error> {
    /// The latest request; `nil` if no request could be created.
    public let request: URLRequest?
    /// The head of the latest response; `nil` if no response was received.
    public let response: HTTPURLResponse?
    /// The URL of the file with the body; `nil` if no file was stored.
    public let fileURL: URL?
    /// The data for resuming the download; `nil` if the download cannot be resumed.
    public let resumeData: Data?
    /// The metrics of the latest exchange.
    public let metrics: URLSessionTaskMetrics?
    /// The duration of the serialization, in seconds.
    public let serializationDuration: TimeInterval
    /// The value or the error.
    public let result: Result<Success, Failure>

    /// The value; `nil` if there is an error.
    public var value: Success? { result.success }
    /// The error; `nil` if there is a value.
    public var error: Failure? { result.failure }

    /// Creates a response, for tests.
    ///
    /// - Parameters:
    ///   - request: The latest request.
    ///   - response: The head of the latest response.
    ///   - fileURL: The URL of the file with the body.
    ///   - resumeData: The data for resuming the download.
    ///   - metrics: The metrics of the latest exchange.
    ///   - serializationDuration: The duration of the serialization, in seconds.
    ///   - result: The value or the error.
    public init(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, resumeData: Data?,
        metrics: URLSessionTaskMetrics?, serializationDuration: TimeInterval, result: Result<Success, Failure>
    ) {
        self.request = request
        self.response = response
        self.fileURL = fileURL
        self.resumeData = resumeData
        self.metrics = metrics
        self.serializationDuration = serializationDuration
        self.result = result
    }

    private func with<NewSuccess, NewFailure>(
        _ result: Result<NewSuccess, NewFailure>
    ) -> DownloadResponse<NewSuccess, NewFailure> {
        DownloadResponse<NewSuccess, NewFailure>(
            request: request, response: response, fileURL: fileURL, resumeData: resumeData, metrics: metrics,
            serializationDuration: serializationDuration, result: result)
    }
}

extension DataResponse: Sendable where Success: Sendable {}
extension DownloadResponse: Sendable where Success: Sendable {}

// MARK: Changing results

extension DataResponse {
    /// Returns a copy of the response, with its value transformed by a closure.
    public func map<NewSuccess>(_ transform: (Success) -> NewSuccess) -> DataResponse<NewSuccess, Failure> {
        with(result.map(transform))
    }

    /// Returns a copy of the response, with its value transformed by a closure that can throw.
    ///
    /// If the closure throws an error, the copy contains this error.
    public func tryMap<NewSuccess>(
        _ transform: (Success) throws -> NewSuccess
    ) -> DataResponse<NewSuccess, any Error> { with(result.tryMap(transform)) }

    /// Returns a copy of the response, with its error transformed by a closure.
    public func mapError<NewFailure: Error>(
        _ transform: (Failure) -> NewFailure
    ) -> DataResponse<Success, NewFailure> { with(result.mapError(transform)) }

    /// Returns a copy of the response, with its error transformed by a closure that can throw.
    ///
    /// If the closure throws an error, the copy contains this error.
    public func tryMapError<NewFailure: Error>(
        _ transform: (Failure) throws -> NewFailure
    ) -> DataResponse<Success, any Error> { with(result.tryMapError(transform)) }
}

extension DownloadResponse {
    /// Returns a copy of the response, with its value transformed by a closure.
    public func map<NewSuccess>(_ transform: (Success) -> NewSuccess) -> DownloadResponse<NewSuccess, Failure> {
        with(result.map(transform))
    }

    /// Returns a copy of the response, with its value transformed by a closure that can throw.
    ///
    /// If the closure throws an error, the copy contains this error.
    public func tryMap<NewSuccess>(
        _ transform: (Success) throws -> NewSuccess
    ) -> DownloadResponse<NewSuccess, any Error> { with(result.tryMap(transform)) }

    /// Returns a copy of the response, with its error transformed by a closure.
    public func mapError<NewFailure: Error>(
        _ transform: (Failure) -> NewFailure
    ) -> DownloadResponse<Success, NewFailure> { with(result.mapError(transform)) }

    /// Returns a copy of the response, with its error transformed by a closure that can throw.
    ///
    /// If the closure throws an error, the copy contains this error.
    public func tryMapError<NewFailure: Error>(
        _ transform: (Failure) throws -> NewFailure
    ) -> DownloadResponse<Success, any Error> { with(result.tryMapError(transform)) }
}

extension Result {
    /// The value; `nil` if there is an error.
    var success: Success? { try? get() }
    /// The error; `nil` if there is a value.
    var failure: Failure? { if case .failure(let error) = self { error } else { nil } }

    fileprivate func tryMap<NewSuccess>(
        _ transform: (Success) throws -> NewSuccess
    ) -> Result<NewSuccess, any Error> { Result<NewSuccess, any Error> { try transform(get()) } }

    fileprivate func tryMapError<NewFailure: Error>(
        _ transform: (Failure) throws -> NewFailure
    ) -> Result<Success, any Error> {
        switch self {
        case .success(let value): .success(value)
        case .failure(let error): Result<Success, any Error> { throw try transform(error) }
        }
    }
}

// MARK: Descriptions

extension DataResponse: CustomStringConvertible, CustomDebugStringConvertible {
    /// The result.
    public var description: String { "\(result)" }

    /// The request, the response and the result, without secret values.
    public var debugDescription: String {
        SerializedResponse<Bluebonnet.DataRequest, String, AnyFailure>(
            request: request.flatMap { try? HTTPRequest($0) }, response: response.flatMap { HTTPResponse($0) },
            data: data, metrics: metrics, serializationDuration: .seconds(serializationDuration),
            result: result.described
        ).debugDescription
    }
}

extension DownloadResponse: CustomStringConvertible, CustomDebugStringConvertible {
    /// The result.
    public var description: String { "\(result)" }

    /// The request, the response and the result, without secret values.
    public var debugDescription: String {
        SerializedResponse<Bluebonnet.DownloadRequest, String, AnyFailure>(
            request: request.flatMap { try? HTTPRequest($0) }, response: response.flatMap { HTTPResponse($0) },
            fileURL: fileURL, resumeData: resumeData, metrics: metrics,
            serializationDuration: .seconds(serializationDuration), result: result.described
        ).debugDescription
    }
}

private struct AnyFailure: Error, CustomStringConvertible {
    let description: String
}

extension Result {
    fileprivate var described: Result<String, AnyFailure> {
        map { "\($0)" }.mapError { AnyFailure(description: "\($0)") }
    }
}

// MARK: From Bluebonnet

extension DataResponse where Failure == AFError {
    init<Value>(
        _ answer: SerializedResponse<Bluebonnet.DataRequest, Value, RequestError>, of request: Request,
        result: Result<Success, AFError>
    ) {
        let data = answer.data
        self.init(
            request: request.lastRequest, response: answer.urlResponse, data: data?.isEmpty == false ? data : nil,
            metrics: answer.metrics, serializationDuration: answer.serializationDuration / .seconds(1), result: result)
    }

    init(_ answer: SerializedResponse<Bluebonnet.DataRequest, Success, RequestError>, of request: Request)
    where Success: Sendable {
        self.init(answer, of: request, result: answer.result.mapError(AFError.init))
    }
}

extension DownloadResponse where Failure == AFError {
    init<Value>(
        _ answer: SerializedResponse<Bluebonnet.DownloadRequest, Value, RequestError>, of request: Request,
        result: Result<Success, AFError>
    ) {
        self.init(
            request: request.lastRequest, response: answer.urlResponse, fileURL: answer.fileURL,
            resumeData: answer.resumeData, metrics: answer.metrics,
            serializationDuration: answer.serializationDuration / .seconds(1), result: result)
    }

    init(_ answer: SerializedResponse<Bluebonnet.DownloadRequest, Success, RequestError>, of request: Request)
    where Success: Sendable {
        self.init(answer, of: request, result: answer.result.mapError(AFError.init))
    }
}
