public import FoundationEssentials

/// The complete result of a ``DataRequest``.
public typealias DataResponse<Success: Sendable, Failure: Error> = SerializedResponse<DataRequest, Success, Failure>

/// The complete result of a ``DownloadRequest``.
public typealias DownloadResponse<Success: Sendable, Failure: Error> =
    SerializedResponse<DownloadRequest, Success, Failure>

/// The complete result of a request: the request, the response and the value made from it.
///
/// Use the type aliases ``DataResponse`` and ``DownloadResponse``.
public struct SerializedResponse<Source: SerializingRequest, Success: Sendable, Failure: Error>: Sendable {
    /// The request of the last attempt, without the header fields that the session adds; `nil` if no request could be
    /// made.
    public var request: HTTPRequest? { attempt.request }

    /// The head of the response; `nil` if no response arrived.
    public var response: HTTPResponse? { attempt.response }

    /// The metrics of the last attempt; `nil` if it never reached the network, or if a cache answered it.
    public var metrics: TransferMetrics? { attempt.metrics }

    /// The time that serialization took, including the preprocessor and, for a download, reading the file.
    public let serializationDuration: Duration

    /// The value or the error.
    public let result: Result<Success, Failure>

    /// The exchange, shared by all responses that were made of it.
    private let attempt: CompletedAttempt

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

    /// Returns the response with its value transformed.
    ///
    /// - Parameter transform: A closure that makes the new value. It is not called if there is no value.
    /// - Returns: A response with the new value, or with the existing error.
    public func map<NewSuccess: Sendable>(
        _ transform: (Success) -> NewSuccess
    ) -> SerializedResponse<Source, NewSuccess, Failure> {
        with(result.map(transform))
    }

    /// Returns the response with its value transformed by a closure that may throw.
    ///
    /// - Parameter transform: A closure that makes the new value. It is not called if there is no value. If it throws,
    ///   that error becomes the response's error.
    /// - Returns: A response with the new value, with the thrown error, or with the existing error.
    public func tryMap<NewSuccess: Sendable>(
        _ transform: (Success) throws -> NewSuccess
    ) -> SerializedResponse<Source, NewSuccess, any Error> {
        with(Result<NewSuccess, any Error> { try transform(result.get()) })
    }

    /// Returns the response with its error transformed.
    ///
    /// - Parameter transform: A closure that makes the new error. It is not called if there is no error.
    /// - Returns: A response with the new error, or with the existing value.
    public func mapError<NewFailure: Error>(
        _ transform: (Failure) -> NewFailure
    ) -> SerializedResponse<Source, Success, NewFailure> {
        with(result.mapError(transform))
    }

    /// Returns the response with its error transformed by a closure that may throw.
    ///
    /// - Parameter transform: A closure that makes the new error. It is not called if there is no error. If it throws,
    ///   the thrown error becomes the response's error.
    /// - Returns: A response with the new error, with the thrown error, or with the existing value.
    public func tryMapError<NewFailure: Error>(
        _ transform: (Failure) throws -> NewFailure
    ) -> SerializedResponse<Source, Success, any Error> {
        switch result {
        case .success(let value): with(.success(value))
        case .failure(let failure): with(Result { throw try transform(failure) })
        }
    }

    private func with<NewSuccess, NewFailure>(
        _ result: Result<NewSuccess, NewFailure>
    ) -> SerializedResponse<Source, NewSuccess, NewFailure> {
        SerializedResponse<Source, NewSuccess, NewFailure>(
            attempt: attempt, serializationDuration: serializationDuration, result: result)
    }
}

extension SerializedResponse where Source == DataRequest {
    /// The body, decoded from its content coding; `nil` if no response arrived.
    public var data: Data? { attempt.data }

    /// The origin of the response: the network, or the session's cache if it has one.
    public var source: ResponseSource { attempt.source }

    /// Creates a response, for example for a test.
    ///
    /// - Parameters:
    ///   - request: The request of the last attempt.
    ///   - response: The head of the response.
    ///   - data: The decoded body.
    ///   - metrics: The metrics of the exchange.
    ///   - serializationDuration: The time that serialization took.
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
    /// The URL of the downloaded file; `nil` if the file did not reach its destination.
    public var fileURL: URL? { attempt.fileURL }

    /// The data for ``Session/download(resumingWith:headers:interceptor:to:)``; `nil` if the download cannot be
    /// resumed.
    public var resumeData: Data? { attempt.resumeData }

    /// Creates a response, for example for a test.
    ///
    /// - Parameters:
    ///   - request: The request of the last attempt.
    ///   - response: The head of the response.
    ///   - fileURL: The URL of the downloaded file.
    ///   - resumeData: The data for resuming the download later.
    ///   - metrics: The metrics of the exchange.
    ///   - serializationDuration: The time that serialization took.
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

extension SerializedResponse: Described, CustomDebugStringConvertible {
    /// The value or the error.
    package var text: String { "\(result)" }

    /// The request, the response and the result, as blocks of text.
    ///
    /// Header fields that carry secrets are redacted, and so are values that look like secrets in form and JSON bodies.
    /// Text bodies of up to 100,000 bytes are shown. For a download, the path of the file is shown instead of its
    /// content, and the size of the resume data instead of the data.
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

/// The indented lines about a part of a message.
private enum DescriptionBlock {
    /// The largest body that is shown, in bytes.
    private static let bodyLimit = 100_000

    static func text(_ name: String, _ text: String) -> [String] {
        guard !text.isEmpty else { return ["    [\(name)]: None"] }
        return ["    [\(name)]:"] + text.split { $0.isNewline }.map { "        \($0)" }
    }

    /// The lines about a body in memory, which is shown if it is text and not too long.
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
