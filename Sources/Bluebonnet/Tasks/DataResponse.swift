public import FoundationEssentials

/// Everything about a finished request: what was sent, what came back, and the value made of it.
public struct DataResponse<Success: Sendable, Failure: Error>: Sendable {
    /// The request of the last attempt, without the fields that the session adds; `nil` when there was none to send.
    public var request: HTTPRequest? { attempt.request }

    /// The head of the response; `nil` when none came.
    public var response: HTTPResponse? { attempt.response }

    /// The body, decoded from its content coding; `nil` when no response came.
    public var data: Data? { attempt.data }

    /// What was measured of the last attempt; `nil` when it never reached the network, or was answered by a cache.
    public var metrics: TransferMetrics? { attempt.metrics }

    /// Where the response came from: the network, unless the session has a cache.
    public var origin: ResponseOrigin { attempt.origin }

    /// How long making the value took, the preprocessor included.
    public let serializationDuration: Duration

    /// The value, or why there is none.
    public let result: Result<Success, Failure>

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The head of the response.
    ///   - data: The body.
    ///   - metrics: What was measured.
    ///   - serializationDuration: How long making the value took.
    ///   - result: The value, or why there is none.
    public init(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, metrics: TransferMetrics?,
        serializationDuration: Duration, result: Result<Success, Failure>
    ) {
        self.init(
            attempt: CompletedAttempt(
                request: request,
                outcome: ExchangeOutcome(response: response, body: data ?? Data(), metrics: metrics), error: nil,
                attempts: 0),
            serializationDuration: serializationDuration, result: result)
    }

    @inline(__always)
    init(attempt: CompletedAttempt, serializationDuration: Duration, result: Result<Success, Failure>) {
        self.attempt = attempt
        self.serializationDuration = serializationDuration
        self.result = result
    }

    /// The exchange, shared by all responses that were made of it.
    private let attempt: CompletedAttempt

    /// The value, or `nil` when there is none.
    public var value: Success? { try? result.get() }

    /// Why there is no value, or `nil` when there is one.
    public var error: Failure? { if case .failure(let error) = result { error } else { nil } }
}

extension DataResponse {
    /// Returns the response with its value transformed.
    ///
    /// - Parameter transform: Makes the new value; not called when there is none.
    /// - Returns: The response with the new value, or with the error that it has.
    public func map<NewSuccess: Sendable>(
        _ transform: (Success) -> NewSuccess
    ) -> DataResponse<NewSuccess, Failure> {
        with(result.map(transform))
    }

    /// Returns the response with its value transformed by a closure that may throw.
    ///
    /// - Parameter transform: Makes the new value; not called when there is none. What it throws is the new error.
    /// - Returns: The response with the new value, with what was thrown, or with the error that it has.
    public func tryMap<NewSuccess: Sendable>(
        _ transform: (Success) throws -> NewSuccess
    ) -> DataResponse<NewSuccess, any Error> {
        with(result.tryMap(transform))
    }

    /// Returns the response with its error transformed.
    ///
    /// - Parameter transform: Makes the new error; not called when there is none.
    /// - Returns: The response with the new error, or with the value that it has.
    public func mapError<NewFailure: Error>(
        _ transform: (Failure) -> NewFailure
    ) -> DataResponse<Success, NewFailure> {
        with(result.mapError(transform))
    }

    /// Returns the response with its error transformed by a closure that may throw.
    ///
    /// - Parameter transform: Makes the new error; not called when there is none. What it throws is the new error.
    /// - Returns: The response with the new error, with what was thrown, or with the value that it has.
    public func tryMapError<NewFailure: Error>(
        _ transform: (Failure) throws -> NewFailure
    ) -> DataResponse<Success, any Error> {
        with(result.tryMapError(transform))
    }

    private func with<NewSuccess, NewFailure>(
        _ result: Result<NewSuccess, NewFailure>
    ) -> DataResponse<NewSuccess, NewFailure> {
        DataResponse<NewSuccess, NewFailure>(
            attempt: attempt, serializationDuration: serializationDuration, result: result)
    }
}
