public import FoundationEssentials

/// An HTTP response with a status and header fields, but without the body (RFC 9110 §3.4).
///
/// A response is cheap to copy. The first access to ``headers`` parses the fields.
public struct HTTPResponse: Sendable {
    /// The URL of the request that the response belongs to.
    public var url: URL { answer.url }

    /// The head as it was received.
    package var head: ReceivedHead { answer.head }

    /// The redirect responses that led to this response, in the order received.
    ///
    /// Each of these responses has an empty ``history``.
    public internal(set) var history: [HTTPResponse] = []

    /// Creates a response for tests and stubs.
    ///
    /// - Parameters:
    ///   - url: The URL of the request that the response belongs to.
    ///   - statusCode: The status code, such as 200.
    ///   - httpVersion: The HTTP version of the response; HTTP/1.1 by default.
    ///   - headers: The header fields; none by default.
    public init(url: URL, statusCode: Int, httpVersion: HTTPVersion = .http1_1, headers: HTTPHeaders = [:]) {
        self.init(url: url, head: ReceivedHead(statusCode: statusCode, httpVersion: httpVersion, headers: headers))
    }

    /// Creates a response from a head that was received.
    ///
    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - head: The head as it was received.
    ///   - trailers: The fields after the body; none by default.
    ///   - keepsCoding: Whether the body is delivered with its content coding; `false` by default.
    package init(url: URL, head: ReceivedHead, trailers: HTTPHeaders? = nil, keepsCoding: Bool = false) {
        answer = ResponseStorage(url: url, head: head, trailers: trailers, keepsCoding: keepsCoding)
    }

    /// Creates a response from a head and the lines after the body, which follow a first line that is ignored.
    init(url: URL, head: ReceivedHead, trailerLines: [UInt8], keepsCoding: Bool) {
        let trailers = trailerLines.isEmpty ? nil : ReceivedHead.fields(of: trailerLines)
        self.init(url: url, head: head, trailers: trailers, keepsCoding: keepsCoding)
    }

    /// The parts of the response, which are on the heap because a response is copied about a dozen times.
    ///
    /// A URL alone contains five references.
    private let answer: ResponseStorage

    private final class ResponseStorage: Sendable {
        let url: URL
        let head: ReceivedHead
        let trailers: HTTPHeaders?
        let keepsCoding: Bool

        init(url: URL, head: ReceivedHead, trailers: HTTPHeaders?, keepsCoding: Bool) {
            self.url = url
            self.head = head
            self.trailers = trailers
            self.keepsCoding = keepsCoding
        }
    }

    /// Whether the body is delivered with its content coding.
    var keepsCoding: Bool { answer.keepsCoding }

    /// The status code (RFC 9110 §15).
    public var statusCode: Int { head.statusCode }

    /// The HTTP version of the response.
    public var httpVersion: HTTPVersion { head.httpVersion }

    /// The header fields in the order received.
    ///
    /// Values that are not valid UTF-8 are decoded as ISO-8859-1.
    public var headers: HTTPHeaders { head.headers }

    /// The reason phrase after the status code; `nil` if the server sent none.
    ///
    /// HTTP/2 and HTTP/3 responses have no reason phrase.
    public var reasonPhrase: String? { head.reasonPhrase }

    /// The media type of the body in lower case and without parameters, such as `text/html`.
    public var mimeType: String? { mediaType?.essence }

    /// The character encoding of the body in lower case, from the `charset` parameter of the media type.
    public var textEncoding: String? { mediaType?.parameter("charset")?.lowercased() }

    /// The expected size of the body in bytes.
    ///
    /// The size is `nil` if the response does not state a valid size. The size is also `nil` if the body has a content
    /// coding that is decoded, because `Content-Length` then counts the encoded bytes. If
    /// ``Session/Configuration/decodesContent`` is `false`, the size is the size of the encoded body.
    public var expectedContentLength: Int64? { answer.keepsCoding ? head.statedLength : head.contentLength }

    /// The content codings that the body still has, in lower case, in the order in which they were applied.
    ///
    /// The array is empty if the body has no codings or was decoded. An unknown coding, such as `aws-chunked`, and the
    /// codings before it in `Content-Encoding` are not removed, and neither are codings that a download did not accept.
    /// If ``Session/Configuration/decodesContent`` is `false`, no coding is removed.
    public var remainingContentCodings: [String] {
        guard let value = head.value(for: "Content-Encoding") else { return [] }
        return answer.keepsCoding ? ContentCoding.names(value) : ContentCoding.kept(value)
    }

    /// The header fields that followed the body (RFC 9110 §6.5), in the order received; empty if there were none.
    ///
    /// The trailers are known when the response is complete. ``SerializedResponse/response`` contains the trailers.
    /// ``Request/response`` contains them after the end of the request. The head that a stream or a closure receives
    /// before the body does not contain them. Responses from the cache have no trailers.
    /// ``Session/Configuration/maximumResponseHeadBytes`` limits the total size of the trailers. With HTTP/1.1,
    /// libcurl limits each trailer to about 4 KiB. If a trailer is longer, the request fails with
    /// `.invalidResponse(.malformed)`.
    public var trailers: HTTPHeaders { answer.trailers ?? [:] }

    /// Whether the body is an event stream (WHATWG HTML §9.2).
    var isEventStream: Bool { statusCode == 200 && mimeType == "text/event-stream" }

    private var mediaType: MediaType? {
        head.value(for: "Content-Type").flatMap { MediaType($0) }
    }
}

extension HTTPResponse: SecretKeeping {
    /// The version, the status code and the redacted URL, on one line.
    package var text: String { "\(httpVersion) \(statusCode) \(url.redactedDescription)" }

    package var shownParts: KeyValuePairs<String, Any> {
        [
            "url": url.redactedDescription, "statusCode": statusCode, "httpVersion": httpVersion,
            "reasonPhrase": reasonPhrase as Any, "headers": headers,
            "trailers": trailers, "history": history,
        ]
    }
}

extension HTTPResponse {
    /// The suggested file name for the body, or `nil` if there is none.
    ///
    /// The name comes from the `Content-Disposition` field (RFC 6266). In this field, `filename*` takes precedence over
    /// `filename`. If the field has no name, the name comes from the path of the URL. The name never contains
    /// directories or control characters.
    public var suggestedFilename: String? {
        let disposition = head.value(for: "Content-Disposition").map { MediaType.parameters(of: $0) } ?? []
        let candidates = [
            disposition.first { $0.name == "filename*" }.flatMap { Self.extendedValue($0.value) },
            disposition.first { $0.name == "filename" }?.value,
            url.path(percentEncoded: false),
        ]
        return candidates.lazy.compactMap { $0 }.compactMap { Self.bareName($0) }.first
    }

    /// Returns the text of an extended parameter such as `UTF-8''na%C3%AFve.txt` (RFC 8187).
    private static func extendedValue(_ text: String) -> String? {
        let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = PercentEncoding.decode(parts[2].utf8) else { return nil }
        switch parts[0].lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { UnicodeScalar($0) }))
        default: return nil
        }
    }

    /// Returns the last component of text that may be a path; `nil` if it cannot be the name of a file.
    private static func bareName(_ text: String) -> String? {
        let scalars = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
        let component = scalars.split { $0 == "/" || $0 == "\\" }.last.map { String($0) } ?? ""
        let isDirectory = scalars.last == "/" || scalars.last == "\\"
        return isDirectory || component.isEmpty || component == "." || component == ".." ? nil : component
    }
}

/// The HTTP version of a response.
@nonexhaustive
public enum HTTPVersion: Hashable, Sendable {
    /// HTTP/1.0 (RFC 1945).
    case http1_0
    /// HTTP/1.1 (RFC 9112).
    case http1_1
    /// HTTP/2 (RFC 9113).
    case http2
    /// HTTP/3 (RFC 9114).
    case http3
}

extension HTTPVersion {
    /// Whether a connection carries several exchanges at a time.
    package var isMultiplexed: Bool { self == .http2 || self == .http3 }
}

extension HTTPVersion: Described {
    /// The version as in a status line, such as `HTTP/1.1`; `HTTP/2` and `HTTP/3` have no minor version.
    package var text: String {
        switch self {
        case .http1_0: "HTTP/1.0"
        case .http1_1: "HTTP/1.1"
        case .http2: "HTTP/2"
        case .http3: "HTTP/3"
        }
    }
}
