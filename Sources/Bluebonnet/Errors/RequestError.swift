public import FoundationEssentials

/// The error of a failed request.
///
/// Bluebonnet reports every failure of a request as a `RequestError`. ``kind`` is the kind of failure. If your own
/// code, such as an encoder, a validator or a serializer, threw an error of another type, ``underlying`` is this error.
///
/// The URL is redacted: it contains no user info and no query values. The error is therefore safe to log, unless the
/// description of ``underlying`` contains a secret.
public struct RequestError: Error, Sendable {
    /// The kind of failure.
    public var kind: Kind { storage.kind }

    /// The error that caused this error, such as an error from your own code or an earlier error of the same request.
    public var underlying: (any Error)? { storage.underlying }

    /// A sentence with details, such as libcurl's error text.
    public var detail: String? { storage.detail }

    /// The method of the request, if it was known when the request failed.
    public var method: HTTPMethod? { storage.method }

    /// The URL of the request without user info and query values, if it was known when the request failed.
    public var url: String? { storage.url }

    /// The number of times that the request was tried, including retries; 0 if it failed before the first attempt.
    public var attempts: Int { storage.attempts }

    /// The received response that caused the failure, such as a response that validation refused; `nil` if there is
    /// none.
    public var response: HTTPResponse? { storage.response }

    /// The first 64 KiB of the body of ``response``.
    ///
    /// For a stream or a download, validation checks the head before the body arrives. If validation refuses the head,
    /// the value contains only the bytes that arrive within the next 300 milliseconds.
    public var body: Data? { storage.body }

    /// The data for resuming the failed download, if it can be resumed.
    ///
    /// The data contains the URL and the header fields of the request, but no user info and no fields with secrets,
    /// such as `Authorization`.
    public var resumeData: Data? { storage.resumeData }

    /// The place in the source code where the error was created, as `#fileID:#line`.
    public var sourceLocation: String { "\(storage.fileID):\(storage.line)" }

    private var storage: Storage {
        get { box.storage }
        set { box = Box(newValue) }
    }

    /// The parts of the error, which are on the heap so that copying the error is cheap.
    private var box: Box

    private final class Box: Sendable {
        let storage: Storage

        init(_ storage: Storage) { self.storage = storage }
    }

    /// The parts of an error.
    private struct Storage {
        var kind: Kind
        let detail: String?
        let underlying: (any Error)?
        let fileID: String
        let line: Int
        var method: HTTPMethod?
        var url: String?
        var attempts = 0
        var response: HTTPResponse?
        /// The status code of the response that was received, whether or not it caused the failure.
        var receivedStatusCode: Int?
        var body: Data?
        var resumeData: Data?
        var wasTriedByTransport = false
        var isSafeToRetry = false
        /// The replaced ``RequestError``; its type is `any Error`, because a structure cannot contain a value of its
        /// own type.
        var replaced: (any Error)?
    }

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - kind: The kind of failure.
    ///   - detail: Details of the failure, which must not contain secrets; `nil` by default.
    ///   - underlying: The error that caused this error; `nil` by default.
    ///   - fileID: The file in which the error is created.
    ///   - line: The line on which the error is created.
    public init(
        _ kind: Kind, detail: String? = nil, underlying: (any Error)? = nil, fileID: String = #fileID, line: Int = #line
    ) {
        box = Box(Storage(kind: kind, detail: detail, underlying: underlying, fileID: fileID, line: line))
    }

    /// Creates the error for text that is not a URL and is already redacted.
    package static func invalidURL(
        _ text: String, detail: String? = nil, fileID: String = #fileID, line: Int = #line
    ) -> RequestError {
        RequestError(.invalidURL, detail: detail, fileID: fileID, line: line).with { $0.url = text }
    }

    /// Calls a closure, and wraps its error in an error of this kind.
    package static func wrapping<Value>(
        _ kind: Kind, detail: @autoclosure () -> String? = nil, fileID: String = #fileID, line: Int = #line,
        _ body: () throws -> Value
    ) throws(RequestError) -> Value {
        do {
            return try body()
        } catch {
            throw RequestError(kind, detail: detail(), underlying: error, fileID: fileID, line: line)
        }
    }

    /// The maximum number of bytes that an error keeps of the body of a failed response.
    package static let bodyLimit = 64 * 1024

    private func with(_ change: (inout Storage) -> Void) -> RequestError {
        var error = self
        change(&error.storage)
        return error
    }

    /// Returns the error with the method and the URL of a request, and with the number of attempts.
    ///
    /// If the error already has a method or a URL, that value does not change.
    package func during(_ request: HTTPRequest?, attempts: Int) -> RequestError {
        with { storage in
            storage.method = storage.method ?? request?.method
            storage.url = storage.url ?? request.map { $0.url.redactedDescription }
            storage.attempts = attempts
        }
    }

    /// Returns the error with another kind.
    func with(_ kind: Kind) -> RequestError { with { $0.kind = kind } }

    /// Returns the error with a response and the beginning of its body.
    package func about(_ response: HTTPResponse?, body: Data?) -> RequestError {
        with { storage in
            storage.response = response
            storage.body = body.map { $0.count > Self.bodyLimit ? Data($0.prefix(Self.bodyLimit)) : $0 }
        }
    }

    /// Returns the error with the status code of the response that was received, if there was one.
    func after(_ response: HTTPResponse?) -> RequestError {
        guard let response, storage.receivedStatusCode == nil else { return self }
        return with { $0.receivedStatusCode = response.statusCode }
    }

    /// Returns the error with the data for resuming the download.
    package func resumable(with resumeData: Data?) -> RequestError { with { $0.resumeData = resumeData } }

    /// Returns the error of a retrier, which replaces the error of the request.
    func replacing(_ error: RequestError) -> RequestError { with { $0.replaced = error } }

    /// The error that the error of a retrier has replaced; `nil` for other errors.
    package var replaced: RequestError? { storage.replaced as? RequestError }

    /// Whether the transport failed after it had tried the request on several connections.
    var wasTriedByTransport: Bool { storage.wasTriedByTransport }

    /// This error, marked as an error that the transport reports after several connections.
    var afterTransportRetries: RequestError { with { $0.wasTriedByTransport = true } }

    /// Returns this error, which states whether the request was certainly not processed.
    func safeToRetry(_ isSafe: Bool) -> RequestError { with { $0.isSafeToRetry = isSafe } }

    /// Returns a cancellation error with an earlier error as the underlying error.
    package static func cancelled(after earlier: RequestError?) -> RequestError {
        RequestError(.cancelled, underlying: earlier)
    }

    /// Decodes the body of the failed response, for APIs that describe errors in the response body.
    ///
    /// Only the first 64 KiB of a body are available. The method decodes on the caller's thread.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder to use; a new `JSONDecoder` by default. The error has no access to the session's
    ///     decoder.
    /// - Returns: The decoded value.
    /// - Throws: The decoder's error, or this error if it has no ``body``.
    public func decodeBody<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder()
    ) throws -> Value {
        guard let body else { throw self }
        return try decoder.decode(type, from: body)
    }

    /// Whether the server has certainly not processed the request, so that a request with any method may be sent again.
    ///
    /// The value is `true` if the request was not sent, for example because there was no connection, and if the server
    /// has refused it unprocessed (RFC 9113 §8.7). It is `false` if the server may have processed the request, an
    /// earlier attempt, or the request before a redirect, and for errors that do not come from the transport.
    ///
    /// A ``RetryPolicy`` still retries only its own methods. A retrier of your own can use this property for a POST.
    public var isSafeToRetry: Bool { storage.isSafeToRetry }

    /// Whether the request exceeded a time limit.
    public var isTimeout: Bool { if case .timedOut = kind { true } else { false } }

    /// Whether the request was cancelled.
    public var isCancellation: Bool { kind == .cancelled }

    /// Whether the connection was lost or could not be made.
    ///
    /// The value is also `true` if ``Timeouts/connect`` was exceeded, and if a WebSocket ended without a close frame or
    /// did not answer a ping.
    public var isConnectionFailure: Bool {
        switch kind {
        case .connection, .timedOut(.connect), .webSocket(.closed(.abnormalClosure)), .webSocket(.pingUnanswered): true
        default: false
        }
    }

    /// Whether the server was not trusted, or TLS could not be set up.
    public var isTrustFailure: Bool { if case .trust = kind { true } else { false } }

    /// The status code of the response to the failed request; `nil` if none was received.
    ///
    /// The response need not be the cause: the value is also set if a body was not decoded, or ended too early.
    public var statusCode: Int? { refusedStatusCode ?? response?.statusCode ?? storage.receivedStatusCode }

    /// The status code that a validator or an event source refused, which the text of the kind contains.
    private var refusedStatusCode: Int? {
        switch kind {
        case .validation(.unacceptableStatusCode(let code)), .eventSource(.unacceptableStatusCode(let code)),
            .webSocket(.handshake(.unacceptableStatusCode(let code))):
            code
        default: nil
        }
    }
}

extension RequestError: SecretKeeping {
    /// The failure, its details and its URL, on one line without secrets.
    package var text: String {
        var text = kind.description
        if let detail { text += " (\(Self.shortened(detail)))" }
        if let underlying { text += ": \(Self.shortened(Self.text(of: underlying)))" }
        if refusedStatusCode == nil, !isCancellation, let statusCode { text += ", status \(statusCode)" }
        if let url {
            // A method that is not a token may contain a line break.
            let method = method.map { "\($0.isValid ? $0.rawValue : $0.rawValue.debugDescription) " }
            text += " [\(method ?? "")\(url)]"
        }
        if attempts > 1 { text += " after \(attempts) attempts" }
        // All parts may contain text of the server.
        return text.onOneLine
    }

    /// Returns the beginning of a text; a certificate can have a thousand names.
    private static func shortened(_ text: String) -> String {
        guard text.utf8.count > textLimit else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: textLimit)
        // Not within a character of UTF-8.
        while text.utf8[end] & 0xc0 == 0x80 { end = text.utf8.index(before: end) }
        return text[..<end] + "…"
    }

    /// The number of bytes in UTF-8.
    private static let textLimit = 1000

    /// Returns the description of an error without its values.
    ///
    /// An encoding error contains the value that could not be encoded, which may be a password.
    private static func text(of error: any Error) -> String {
        guard case EncodingError.invalidValue(_, let context) = error else { return "\(error)" }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return path.isEmpty ? context.debugDescription : "\(path): \(context.debugDescription)"
    }
}

extension RequestError {
    /// The parts for a mirror without secrets.
    ///
    /// The mirror shows only the length of the body, and only the text of the underlying error.
    package var shownParts: KeyValuePairs<String, Any> {
        [
            "kind": kind, "detail": detail as Any, "underlying": underlying.map { Self.text(of: $0) } as Any,
            "method": method?.rawValue as Any, "url": url as Any, "attempts": attempts, "response": response as Any,
            "body": body.map { "\($0.count) bytes" } as Any,
            "resumeData": resumeData.map { "\($0.count) bytes" } as Any,
            "sourceLocation": sourceLocation,
        ]
    }
}

extension RequestError: LocalizedError {
    /// The description of the error.
    ///
    /// Foundation's `localizedDescription` returns this text.
    public var errorDescription: String? { description }
}
