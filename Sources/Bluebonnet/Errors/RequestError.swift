public import FoundationEssentials

/// Says what went wrong with a request, where, and for which URL.
///
/// Every failure that Bluebonnet reports is one of these. ``kind`` names the failure; ``underlying`` is the error of the
/// user's own code (an encoder, a validator, a serializer) that caused it, where one did. The URL is redacted: it shows
/// no user info and no query values, so that an error can be logged as it is.
public struct RequestError: Error, Sendable {
    /// The kind of failure.
    public var kind: Kind { storage.kind }

    /// The error that caused this one, if other code than Bluebonnet's threw it.
    public var underlying: (any Error)? { storage.underlying }

    /// One sentence of detail, such as libcurl's error text.
    public var detail: String? { storage.detail }

    /// The method of the request, if it was known by then.
    public var method: HTTPMethod? { storage.method }

    /// The URL of the request without user info and query values, if it was known by then.
    public var url: String? { storage.url }

    /// How many attempts had been made, this failure's included; 0 when the request ended before it was started.
    public var attempts: Int { storage.attempts }

    /// The response that failed validation or could not be serialized, if there was one.
    public var response: HTTPResponse? { storage.response }

    /// The first 64 KiB of the body that came with ``response``.
    ///
    /// Of a stream or a download whose head was refused, it holds the bytes that came within 300 ms after that.
    public var body: Data? { storage.body }

    /// The data to resume the failed download with, if it can be resumed.
    ///
    /// Holds the URL and the fields of the request, without those that carry secrets.
    public var resumeData: Data? { storage.resumeData }

    /// Where in Bluebonnet the error was made, as `#fileID:#line`.
    public var sourceLocation: String { "\(storage.fileID):\(storage.line)" }

    private var storage: Storage {
        get { box.storage }
        set { box = Box(newValue) }
    }

    /// On the heap, so that passing the error on is cheap.
    private var box: Box

    private final class Box: Sendable {
        let storage: Storage

        init(_ storage: Storage) { self.storage = storage }
    }

    /// The parts of an error.
    private struct Storage {
        let kind: Kind
        let detail: String?
        let underlying: (any Error)?
        let fileID: String
        let line: Int
        var method: HTTPMethod?
        var url: String?
        var attempts = 0
        var response: HTTPResponse?
        var body: Data?
        var resumeData: Data?
        var wasTriedByTransport = false
    }

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - kind: The kind of failure.
    ///   - detail: What is known about the circumstances. It must hold no secret.
    ///   - underlying: The error that caused this one.
    ///   - fileID: Where the error is made.
    ///   - line: Where the error is made.
    public init(
        _ kind: Kind, detail: String? = nil, underlying: (any Error)? = nil, fileID: String = #fileID, line: Int = #line
    ) {
        box = Box(Storage(kind: kind, detail: detail, underlying: underlying, fileID: fileID, line: line))
    }

    /// Makes the error of a text that is not a URL; the text is redacted already.
    package static func invalidURL(
        _ text: String, detail: String? = nil, fileID: String = #fileID, line: Int = #line
    ) -> RequestError {
        RequestError(.invalidURL, detail: detail, fileID: fileID, line: line).with { $0.url = text }
    }

    /// How many bytes of a failed response's body an error keeps.
    package static let bodyLimit = 64 * 1024

    private func with(_ change: (inout Storage) -> Void) -> RequestError {
        var error = self
        change(&error.storage)
        return error
    }

    /// Returns the error with the circumstances filled in; what it already says stays.
    package func during(_ request: HTTPRequest?, attempts: Int) -> RequestError {
        with { storage in
            storage.method = storage.method ?? request?.method
            storage.url = storage.url ?? request.map { $0.url.redactedDescription }
            storage.attempts = attempts
        }
    }

    /// Returns the error with the response that it is about.
    package func about(_ response: HTTPResponse?, body: Data?) -> RequestError {
        with { storage in
            storage.response = response
            storage.body = body.map { $0.count > Self.bodyLimit ? Data($0.prefix(Self.bodyLimit)) : $0 }
        }
    }

    /// Returns the error with what the download can be resumed with.
    package func resumable(with resumeData: Data?) -> RequestError { with { $0.resumeData = resumeData } }

    /// Whether the transport gave the request up after it had tried it on several connections.
    var wasTriedByTransport: Bool { storage.wasTriedByTransport }

    /// The same error of a request that the transport has tried on several connections.
    var afterTransportRetries: RequestError { with { $0.wasTriedByTransport = true } }

    /// Returns a cancellation that keeps an earlier error as the underlying one.
    package static func cancelled(after earlier: RequestError?) -> RequestError {
        RequestError(.cancelled, underlying: earlier)
    }

    /// Decodes the body of the failed response, for an API that describes its errors in it.
    ///
    /// Only the first 64 KiB of a body are kept. Runs where it is called.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder; JSON by default.
    /// - Returns: The decoded value.
    /// - Throws: The decoder's error, or this error itself when there is no body.
    public func decodeBody<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder()
    ) throws -> Value {
        guard let body else { throw self }
        return try decoder.decode(type, from: body)
    }

    /// Whether a time limit ended the request.
    public var isTimeout: Bool { if case .timedOut = kind { true } else { false } }

    /// Whether the request was cancelled.
    public var isCancellation: Bool { kind == .cancelled }

    /// Whether no connection could be made, in time or at all, or the connection was lost.
    public var isConnectionFailure: Bool {
        switch kind {
        case .connection, .timedOut(.connect): true
        default: false
        }
    }

    /// Whether the server could not be trusted.
    public var isTrustFailure: Bool { if case .trust = kind { true } else { false } }

    /// The status code that validation refused, if that is the failure.
    public var statusCode: Int? { if case .validation(.unacceptableStatusCode(let code)) = kind { code } else { nil } }
}

extension RequestError: SecretKeeping {
    /// The failure, its place and its URL, in one line without secrets.
    package var text: String {
        var text = kind.description
        if let detail { text += " (\(detail))" }
        if let underlying { text += ": \(Self.text(of: underlying))" }
        if let url {
            // A method that is not a token may hold a line break.
            let method = method.map { "\($0.isValid ? $0.rawValue : $0.rawValue.debugDescription) " }
            text += " [\(method ?? "")\(url)]"
        }
        if attempts > 1 { text += " after \(attempts) attempts" }
        return text
    }

    /// An encoding error names the value that it is about, which may be a password.
    private static func text(of error: any Error) -> String {
        guard case EncodingError.invalidValue(_, let context) = error else { return "\(error)" }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return path.isEmpty ? context.debugDescription : "\(path): \(context.debugDescription)"
    }
}

extension RequestError {
    /// A mirror without secrets: of the body, only its length, and of the underlying error, its text.
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
    /// The description, so that Foundation's `localizedDescription` says it.
    public var errorDescription: String? { description }
}
