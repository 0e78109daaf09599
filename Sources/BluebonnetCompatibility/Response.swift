public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

/// The response of a `DataRequest`, with its serialized value or an error.
public typealias DataResponse<Success, Failure: Error> = ResponseOf<Bluebonnet.DataRequest, Success, Failure>
/// The response of a `DownloadRequest`, with its serialized value or an error.
public typealias DownloadResponse<Success, Failure: Error> = ResponseOf<Bluebonnet.DownloadRequest, Success, Failure>

/// The response of a `DataRequest` that fails with `AFError`.
public typealias AFDataResponse<Success> = DataResponse<Success, AFError>
/// The response of a `DownloadRequest` that fails with `AFError`.
public typealias AFDownloadResponse<Success> = DownloadResponse<Success, AFError>

/// A response with its serialized value or an error: a `DataResponse` or a `DownloadResponse`.
public struct ResponseOf<Kind: SerializingRequest, Success, Failure: Error> {
    /// The latest request, which may not have been made, if an adapter has failed.
    public let request: URLRequest?
    /// The head of the latest response; `nil` if there was none.
    public let response: HTTPURLResponse?
    /// The value or the error.
    public let result: Result<Success, Failure>

    private let base: SerializedResponse<Kind, Void, Never>

    /// What was measured in the latest exchange.
    public var metrics: URLSessionTaskMetrics? { base.metrics }
    /// The time that serializing took, in seconds.
    public var serializationDuration: TimeInterval { base.serializationDuration / .seconds(1) }
    /// The value; `nil` if there is an error.
    public var value: Success? { try? result.get() }
    /// The error; `nil` if there is a value.
    public var error: Failure? { if case .failure(let error) = result { error } else { nil } }

    private init(
        _ base: SerializedResponse<Kind, Void, Never>, request: URLRequest?, response: HTTPURLResponse?,
        result: Result<Success, Failure>
    ) {
        self.base = base
        self.request = request
        self.response = response
        self.result = result
    }

    /// Returns the response with a value that a closure makes of its value.
    public func map<NewSuccess>(_ transform: (Success) -> NewSuccess) -> ResponseOf<Kind, NewSuccess, Failure> {
        with(result.map(transform))
    }

    /// Returns the response with a value that a closure makes of its value, or with the error that it throws.
    public func tryMap<NewSuccess>(
        _ transform: (Success) throws -> NewSuccess
    ) -> ResponseOf<Kind, NewSuccess, any Error> { with(Result { try transform(result.get()) }) }

    /// Returns the response with an error that a closure makes of its error.
    public func mapError<NewFailure: Error>(
        _ transform: (Failure) -> NewFailure
    ) -> ResponseOf<Kind, Success, NewFailure> { with(result.mapError(transform)) }

    /// Returns the response with an error that a closure makes of its error, or with the error that it throws.
    public func tryMapError<NewFailure: Error>(
        _ transform: (Failure) throws -> NewFailure
    ) -> ResponseOf<Kind, Success, any Error> {
        switch result {
        case .success(let value): with(.success(value))
        case .failure(let error): with(Result { throw try transform(error) })
        }
    }

    private func with<NewSuccess, NewFailure>(
        _ result: Result<NewSuccess, NewFailure>
    ) -> ResponseOf<Kind, NewSuccess, NewFailure> {
        ResponseOf<Kind, NewSuccess, NewFailure>(base, request: request, response: response, result: result)
    }
}

extension ResponseOf: Sendable where Success: Sendable {}

extension ResponseOf where Kind == Bluebonnet.DataRequest {
    /// The body of the latest response; `nil` if nothing was received.
    public var data: Data? { base.contents.data.flatMap { $0.isEmpty ? nil : $0 } }

    /// Creates a response, for tests.
    ///
    /// - Parameters:
    ///   - request: The latest request.
    ///   - response: The head of the latest response.
    ///   - data: The body of the latest response.
    ///   - metrics: What was measured in the latest exchange.
    ///   - serializationDuration: The time that serializing took, in seconds.
    ///   - result: The value or the error.
    public init(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, metrics: URLSessionTaskMetrics?,
        serializationDuration: TimeInterval, result: Result<Success, Failure>
    ) {
        let base = SerializedResponse<Kind, Void, Never>(
            request: request.flatMap { try? HTTPRequest($0) }, response: response.flatMap { HTTPResponse($0) },
            data: data, metrics: metrics, serializationDuration: .seconds(serializationDuration), result: .success(()))
        self.init(base, request: request, response: response, result: result)
    }
}

extension ResponseOf where Kind == Bluebonnet.DownloadRequest {
    /// The file with the body; `nil` if no file was stored.
    public var fileURL: URL? { base.contents.fileURL }
    /// The data with which a new download can continue this one; `nil` if it can't.
    public var resumeData: Data? { base.contents.resumeData }

    /// Creates a response, for tests.
    ///
    /// - Parameters:
    ///   - request: The latest request.
    ///   - response: The head of the latest response.
    ///   - fileURL: The file with the body.
    ///   - resumeData: The data with which a new download can continue this one.
    ///   - metrics: What was measured in the latest exchange.
    ///   - serializationDuration: The time that serializing took, in seconds.
    ///   - result: The value or the error.
    public init(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, resumeData: Data?,
        metrics: URLSessionTaskMetrics?, serializationDuration: TimeInterval, result: Result<Success, Failure>
    ) {
        let base = SerializedResponse<Kind, Void, Never>(
            request: request.flatMap { try? HTTPRequest($0) }, response: response.flatMap { HTTPResponse($0) },
            fileURL: fileURL, resumeData: resumeData, metrics: metrics,
            serializationDuration: .seconds(serializationDuration), result: .success(()))
        self.init(base, request: request, response: response, result: result)
    }
}

extension ResponseOf: CustomStringConvertible, CustomDebugStringConvertible {
    private struct AnyFailure: Error, CustomStringConvertible {
        let description: String
    }

    /// The result.
    public var description: String { "\(result)" }

    /// The request, the response and the result, without secret values.
    public var debugDescription: String {
        base.with(result.map { "\($0)" }.mapError { AnyFailure(description: "\($0)") }).debugDescription
    }
}

// MARK: From Bluebonnet

extension ResponseOf where Failure == AFError {
    init<Value>(
        _ answer: SerializedResponse<Kind, Value, RequestError>, of request: Request, result: Result<Success, AFError>
    ) {
        self.init(
            answer.with(.success(())), request: request.lastRequest, response: answer.urlResponse, result: result)
    }

    init(_ answer: SerializedResponse<Kind, Success, RequestError>, of request: Request) where Success: Sendable {
        self.init(answer, of: request, result: answer.result.mapError(AFError.init))
    }
}
