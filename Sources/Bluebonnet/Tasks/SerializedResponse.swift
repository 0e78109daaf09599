public import FoundationEssentials

/// Everything about a finished ``DataRequest``.
public typealias DataResponse<Success: Sendable, Failure: Error> = SerializedResponse<DataRequest, Success, Failure>

/// Everything about a finished ``DownloadRequest``.
public typealias DownloadResponse<Success: Sendable, Failure: Error> =
    SerializedResponse<DownloadRequest, Success, Failure>

/// Everything about a finished request: what was sent, what came back, and the value made of it.
///
/// Written ``DataResponse`` and ``DownloadResponse``, by the kind of the request.
public struct SerializedResponse<Source: SerializingRequest, Success: Sendable, Failure: Error>: Sendable {
    /// The request of the last attempt, without the fields that the session adds; `nil` when there was none to send.
    public var request: HTTPRequest? { attempt.request }

    /// The head of the response; `nil` when none came.
    public var response: HTTPResponse? { attempt.response }

    /// What was measured of the last attempt; `nil` when it never reached the network, or was answered by a cache.
    public var metrics: TransferMetrics? { attempt.metrics }

    /// How long making the value took, the preprocessor included.
    public let serializationDuration: Duration

    /// The value, or why there is none.
    public let result: Result<Success, Failure>

    /// The exchange, shared by all responses that were made of it.
    private let attempt: CompletedAttempt

    @inline(__always)
    init(attempt: CompletedAttempt, serializationDuration: Duration, result: Result<Success, Failure>) {
        self.attempt = attempt
        self.serializationDuration = serializationDuration
        self.result = result
    }

    /// The value, or `nil` when there is none.
    public var value: Success? { try? result.get() }

    /// Why there is no value, or `nil` when there is one.
    public var error: Failure? { if case .failure(let error) = result { error } else { nil } }

    /// Returns the response with its value transformed.
    ///
    /// - Parameter transform: Makes the new value; not called when there is none.
    /// - Returns: The response with the new value, or with the error that it has.
    public func map<NewSuccess: Sendable>(
        _ transform: (Success) -> NewSuccess
    ) -> SerializedResponse<Source, NewSuccess, Failure> {
        with(result.map(transform))
    }

    /// Returns the response with its value transformed by a closure that may throw.
    ///
    /// - Parameter transform: Makes the new value; not called when there is none. What it throws is the new error.
    /// - Returns: The response with the new value, with what was thrown, or with the error that it has.
    public func tryMap<NewSuccess: Sendable>(
        _ transform: (Success) throws -> NewSuccess
    ) -> SerializedResponse<Source, NewSuccess, any Error> {
        with(Result<NewSuccess, any Error> { try transform(result.get()) })
    }

    /// Returns the response with its error transformed.
    ///
    /// - Parameter transform: Makes the new error; not called when there is none.
    /// - Returns: The response with the new error, or with the value that it has.
    public func mapError<NewFailure: Error>(
        _ transform: (Failure) -> NewFailure
    ) -> SerializedResponse<Source, Success, NewFailure> {
        with(result.mapError(transform))
    }

    /// Returns the response with its error transformed by a closure that may throw.
    ///
    /// - Parameter transform: Makes the new error; not called when there is none. What it throws is the new error.
    /// - Returns: The response with the new error, with what was thrown, or with the value that it has.
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
    /// The body, decoded from its content coding; `nil` when no response came.
    public var data: Data? { attempt.data }

    /// Where the response came from: the network, unless the session has a cache.
    public var source: ResponseSource { attempt.source }

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
}

extension SerializedResponse where Source == DownloadRequest {
    /// Where the body is; `nil` when it did not come to its destination.
    public var fileURL: URL? { attempt.fileURL }

    /// The data for ``Session/download(resumingWith:headers:interceptor:to:)``; `nil` if there is nothing to resume.
    public var resumeData: Data? { attempt.resumeData }

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The head of the response.
    ///   - fileURL: Where the body is.
    ///   - resumeData: The data to resume a later download with.
    ///   - metrics: What was measured.
    ///   - serializationDuration: How long making the value took.
    ///   - result: The value, or why there is none.
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
    /// The value, or why there is none.
    package var text: String { "\(result)" }

    /// What was sent and what came back, in blocks.
    ///
    /// Fields that carry secrets, and what looks like one in bodies that are forms or JSON, are redacted. Bodies are shown
    /// where they are text of up to 100,000 bytes. Of a download, the file is named, not shown, and of the resume data
    /// there is only the size.
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

    /// The lines about a body that is in memory; it is shown where it is text and not too long.
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
