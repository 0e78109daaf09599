public import FoundationEssentials

/// Everything about a finished download: what was sent, what came back, where it is, and the value made of it.
public struct DownloadResponse<Success: Sendable, Failure: Error>: Sendable {
    /// The request of the last attempt, without the fields that the session adds; `nil` when there was none to send.
    public var request: HTTPRequest? { attempt.request }

    /// The head of the response; `nil` when none came.
    public var response: HTTPResponse? { attempt.response }

    /// Where the body is; `nil` when it did not come to its destination.
    public let fileURL: URL?

    /// What ``Session/download(resumingWith:headers:interceptor:to:)`` goes on with; `nil` when there is nothing to go on with.
    public let resumeData: Data?

    /// What was measured of the last attempt; `nil` when it never reached the network.
    public var metrics: TransferMetrics? { attempt.metrics }

    /// How long making the value took, the preprocessor included.
    public let serializationDuration: Duration

    /// The value, or why there is none.
    public let result: Result<Success, Failure>

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The head of the response.
    ///   - fileURL: Where the body is.
    ///   - resumeData: What a later download can go on with.
    ///   - metrics: What was measured.
    ///   - serializationDuration: How long making the value took.
    ///   - result: The value, or why there is none.
    public init(
        request: HTTPRequest?, response: HTTPResponse?, fileURL: URL?, resumeData: Data?, metrics: TransferMetrics?,
        serializationDuration: Duration, result: Result<Success, Failure>
    ) {
        self.init(
            attempt: CompletedAttempt(
                request: request,
                outcome: ExchangeOutcome(response: response, metrics: metrics), error: nil, attempts: 0),
            fileURL: fileURL, resumeData: resumeData, serializationDuration: serializationDuration, result: result)
    }

    init(
        attempt: CompletedAttempt, fileURL: URL?, resumeData: Data?, serializationDuration: Duration,
        result: Result<Success, Failure>
    ) {
        self.attempt = attempt
        self.fileURL = fileURL
        self.resumeData = resumeData
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

extension DownloadResponse {
    /// Returns the response with its value transformed.
    ///
    /// - Parameter transform: Makes the new value; not called when there is none.
    /// - Returns: The response with the new value, or with the error that it has.
    public func map<NewSuccess: Sendable>(
        _ transform: (Success) -> NewSuccess
    ) -> DownloadResponse<NewSuccess, Failure> {
        with(result.map(transform))
    }

    /// Returns the response with its value transformed by a closure that may throw.
    ///
    /// - Parameter transform: Makes the new value; not called when there is none. What it throws is the new error.
    /// - Returns: The response with the new value, with what was thrown, or with the error that it has.
    public func tryMap<NewSuccess: Sendable>(
        _ transform: (Success) throws -> NewSuccess
    ) -> DownloadResponse<NewSuccess, any Error> {
        with(result.tryMap(transform))
    }

    /// Returns the response with its error transformed.
    ///
    /// - Parameter transform: Makes the new error; not called when there is none.
    /// - Returns: The response with the new error, or with the value that it has.
    public func mapError<NewFailure: Error>(
        _ transform: (Failure) -> NewFailure
    ) -> DownloadResponse<Success, NewFailure> {
        with(result.mapError(transform))
    }

    /// Returns the response with its error transformed by a closure that may throw.
    ///
    /// - Parameter transform: Makes the new error; not called when there is none. What it throws is the new error.
    /// - Returns: The response with the new error, with what was thrown, or with the value that it has.
    public func tryMapError<NewFailure: Error>(
        _ transform: (Failure) throws -> NewFailure
    ) -> DownloadResponse<Success, any Error> {
        with(result.tryMapError(transform))
    }

    private func with<NewSuccess, NewFailure>(
        _ result: Result<NewSuccess, NewFailure>
    ) -> DownloadResponse<NewSuccess, NewFailure> {
        DownloadResponse<NewSuccess, NewFailure>(
            attempt: attempt, fileURL: fileURL, resumeData: resumeData, serializationDuration: serializationDuration,
            result: result)
    }
}
