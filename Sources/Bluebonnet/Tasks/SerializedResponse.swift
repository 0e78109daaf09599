public import FoundationEssentials

/// The complete result of a ``DataRequest``.
public typealias DataResponse<Success: Sendable, Failure: Error> = SerializedResponse<DataRequest, Success, Failure>

/// The complete result of a ``DownloadRequest``.
public typealias DownloadResponse<Success: Sendable, Failure: Error> =
    SerializedResponse<DownloadRequest, Success, Failure>

/// The complete result of a request, with the response and the serialized value or the error.
///
/// In your code, use the shorter names ``DataResponse`` and ``DownloadResponse``.
public struct SerializedResponse<Source: SerializingRequest, Success: Sendable, Failure: Error>: Sendable {
    /// The last HTTP request that was sent, or `nil` if no request was sent.
    ///
    /// After a redirect, this is the request to the new location. The value does not contain the header fields that the
    /// session adds.
    public var request: HTTPRequest? { attempt.request }

    /// The head of the response, or `nil` if no response was received.
    public var response: HTTPResponse? { attempt.response }

    /// The status code of the response, or `nil` if no response was received.
    public var statusCode: Int? { response?.statusCode }

    /// The header fields of the response; empty if no response was received.
    public var headers: HTTPHeaders { response?.headers ?? [:] }

    /// The URL of the response, after redirects, or `nil` if no response was received.
    public var url: URL? { response?.url }

    /// The metrics of the last HTTP request and its response, or `nil` if they were not measured.
    ///
    /// For example, there are no metrics if the cache provides the response without a request to the server.
    public var metrics: TransferMetrics? { attempt.metrics }

    /// The last attempt, which all responses of the request share.
    let attempt: CompletedAttempt

    /// The duration of the serialization, including the preprocessor.
    ///
    /// For a download, the duration also includes the time to read the file.
    public let serializationDuration: Duration

    /// The value or the error.
    public let result: Result<Success, Failure>

    var attempts: Int { attempt.attempts }

    @inline(__always)
    init(attempt: CompletedAttempt, serializationDuration: Duration, result: Result<Success, Failure>) {
        self.attempt = attempt
        self.serializationDuration = serializationDuration
        self.result = result
    }

    /// The value, or `nil` if there is an error.
    public var value: Success? { try? result.get() }

    /// The error, or `nil` if there is a value.
    public var error: Failure? { if case .failure(let error) = result { error } else { nil } }

    /// The body of a data request, the file of a download, and the data for resuming it.
    package var contents: (data: Data?, fileURL: URL?, resumeData: Data?) {
        (attempt.data, attempt.fileURL, attempt.resumeData)
    }

    /// Returns a response with a transformed value.
    ///
    /// - Parameter transform: A closure that returns the new value. It is not called if there is no value.
    /// - Returns: A response with the new value or the existing error.
    public func map<NewSuccess: Sendable>(
        _ transform: (Success) -> NewSuccess
    ) -> SerializedResponse<Source, NewSuccess, Failure> {
        with(result.map(transform))
    }

    /// Returns a response with a value that is transformed by a throwing closure.
    ///
    /// - Parameter transform: A closure that returns the new value. It is not called if there is no value. If it throws
    ///   an error, the thrown error becomes the error of the response.
    /// - Returns: A response with the new value, the thrown error or the existing error.
    public func tryMap<NewSuccess: Sendable>(
        _ transform: (Success) throws -> NewSuccess
    ) -> SerializedResponse<Source, NewSuccess, any Error> {
        with(Result<NewSuccess, any Error> { try transform(result.get()) })
    }

    /// Returns a response with a transformed error.
    ///
    /// - Parameter transform: A closure that returns the new error. It is not called if there is no error.
    /// - Returns: A response with the new error or the existing value.
    public func mapError<NewFailure: Error>(
        _ transform: (Failure) -> NewFailure
    ) -> SerializedResponse<Source, Success, NewFailure> {
        with(result.mapError(transform))
    }

    /// Returns a response with an error that is transformed by a throwing closure.
    ///
    /// - Parameter transform: A closure that returns the new error. It is not called if there is no error. If it throws
    ///   an error, the thrown error becomes the error of the response.
    /// - Returns: A response with the new error, the thrown error or the existing value.
    public func tryMapError<NewFailure: Error>(
        _ transform: (Failure) throws -> NewFailure
    ) -> SerializedResponse<Source, Success, any Error> {
        switch result {
        case .success(let value): with(.success(value))
        case .failure(let failure): with(Result { throw try transform(failure) })
        }
    }

    /// Returns the response with a decoder for its body.
    func decoding(with decoder: any DataDecoder) -> Self {
        Self(attempt: attempt.decoding(with: decoder), serializationDuration: serializationDuration, result: result)
    }

    /// Returns the response with another result.
    func with<NewSuccess, NewFailure>(
        _ result: Result<NewSuccess, NewFailure>
    ) -> SerializedResponse<Source, NewSuccess, NewFailure> {
        SerializedResponse<Source, NewSuccess, NewFailure>(
            attempt: attempt, serializationDuration: serializationDuration, result: result)
    }
}

extension SerializedResponse {
    /// The source of the response, which is the network or the session's cache.
    public var source: ResponseSource { attempt.source }

    /// The way in which the session's cache handled the request (RFC 9211), or `nil` if the session has no cache.
    public var cacheStatus: CacheStatus? { attempt.cacheStatus }
}

extension SerializedResponse where Source == DataRequest {
    /// The body after content decoding, or `nil` if no response was received.
    public var data: Data? { attempt.data }

    /// Creates a response, for example for a test.
    ///
    /// - Parameters:
    ///   - request: The last HTTP request that was sent.
    ///   - response: The head of the response.
    ///   - data: The body after content decoding.
    ///   - metrics: The metrics of the last HTTP request and its response.
    ///   - serializationDuration: The duration of the serialization.
    ///   - result: The value or the error.
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
}

extension SerializedResponse where Source == DownloadRequest {
    /// The URL of the downloaded file, or `nil` if the file was not moved to its destination.
    public var fileURL: URL? { attempt.fileURL }

    /// The data for resuming the download, or `nil` if the download cannot be resumed.
    ///
    /// Pass the data to ``Session/download(resumingWith:headers:interceptor:to:)``.
    public var resumeData: Data? { attempt.resumeData }

    /// Creates a response, for example for a test.
    ///
    /// - Parameters:
    ///   - request: The last HTTP request that was sent.
    ///   - response: The head of the response.
    ///   - fileURL: The URL of the downloaded file.
    ///   - resumeData: The data for resuming the download later.
    ///   - metrics: The metrics of the last HTTP request and its response.
    ///   - serializationDuration: The duration of the serialization.
    ///   - result: The value or the error.
    public init(
        request: HTTPRequest?, response: HTTPResponse?, fileURL: URL?, resumeData: Data?, metrics: TransferMetrics?,
        serializationDuration: Duration, result: Result<Success, Failure>
    ) {
        self.init(
            attempt: CompletedAttempt(
                request: request, outcome: ExchangeOutcome(response: response, metrics: metrics), error: nil,
                attempts: 0, fileURL: fileURL, resumeData: resumeData),
            serializationDuration: serializationDuration, result: result)
    }
}

// MARK: Descriptions

extension SerializedResponse: CustomStringConvertible, CustomDebugStringConvertible {
    /// The value or the error.
    public var description: String { "\(result)" }

    /// A multi-line text with the request, the response and the result.
    ///
    /// Header fields with secrets are redacted. In form and JSON bodies, values are also redacted if their names
    /// suggest a secret, such as `password`. Text bodies of up to 100,000 bytes are shown. For other bodies, only the
    /// size is shown. For a download, the text contains the path of the file and the size of the resume data instead of
    /// the response body.
    public var debugDescription: String {
        var lines: [String] = []
        if let request {
            lines.append("[Request]: \(request.method.rawValue) \(request.url.redactedDescription)")
            lines += DescriptionBlock.text("Headers", request.headers.description)
            lines += DescriptionBlock.body(request.body?.data, of: request.headers)
        } else {
            lines.append("[Request]: None")
        }
        if let response {
            lines.append("[Response]: \(response.url.redactedDescription)")
            lines.append("    [Status Code]: \(response.statusCode)")
            lines += DescriptionBlock.text("Headers", response.headers.description)
            if Source.self == DownloadRequest.self {
                let path = attempt.fileURL?.path(percentEncoded: false).debugDescription
                lines.append("    [File]: \(path ?? "None")")
                lines.append("    [Resume Data]: \(attempt.resumeData.map { "\($0.count) bytes" } ?? "None")")
            } else {
                lines += DescriptionBlock.body(attempt.data, of: response.headers)
            }
        } else {
            lines.append("[Response]: None")
        }
        lines.append("[Network Duration]: \(metrics.map { "\($0.total)" } ?? "None")")
        lines.append("[Serialization Duration]: \(serializationDuration)")
        lines.append("[Result]: \(result)")
        return lines.joined(separator: "\n")
    }
}

/// Creates the indented lines about a part of a message.
private enum DescriptionBlock {
    /// The maximum size in bytes of a body that is shown.
    private static let bodyLimit = 100_000

    static func text(_ name: String, _ text: String) -> [String] {
        guard !text.isEmpty else { return ["    [\(name)]: None"] }
        return ["    [\(name)]:"] + text.split { $0.isNewline }.map { "        \($0)" }
    }

    /// Returns the lines about a body, which contain the body if it is text and not too long.
    static func body(_ body: Data?, of headers: HTTPHeaders) -> [String] {
        guard let body, !body.isEmpty else { return text("Body", "") }
        guard let mediaType = headers["Content-Type"].flatMap({ MediaType($0) }), isText(mediaType),
            body.count <= bodyLimit,
            let text = try? TextDecoder.decode(body, encoding: nil, charset: mediaType.parameter("charset"))
        else { return ["    [Body]: \(body.count) bytes"] }
        return Self.text("Body", Redaction.body(text, mediaType))
    }

    private static func isText(_ mediaType: MediaType) -> Bool {
        mediaType.type == "text"
            || ["json", "xml", "javascript", "x-www-form-urlencoded"].contains { mediaType.subtype.contains($0) }
    }
}

extension SerializedResponse where Source == DataRequest {
    /// The problem that the server describes in the body (RFC 9457); `nil` if there is none.
    ///
    /// The body must have the media type `application/problem+json`. The property is available whether or not a
    /// validator has rejected the response.
    public var problem: ProblemDetails? { ProblemDetails(response, data) }
}
