public import FoundationEssentials

/// Describes a response: its status and its fields, without the body (RFC 9110 §3.4).
///
/// Small to copy. The fields are parsed when they are first asked for.
public struct HTTPResponse: Sendable {
    /// The URL that answered.
    public var url: URL { answer.url }

    /// The head as it was received.
    package var head: ReceivedHead { answer.head }

    /// The responses that redirected the request to this one, in order; they have no history of their own.
    public internal(set) var history: [HTTPResponse] = []

    /// Creates a response, for tests and for stubs.
    ///
    /// - Parameters:
    ///   - url: The URL that answers.
    ///   - statusCode: The status code.
    ///   - httpVersion: The version of HTTP.
    ///   - headers: The fields.
    public init(url: URL, statusCode: Int, httpVersion: HTTPVersion = .http1_1, headers: HTTPHeaders = [:]) {
        self.init(url: url, head: ReceivedHead(statusCode: statusCode, httpVersion: httpVersion, headers: headers))
    }

    /// Creates a response from a head that was received.
    package init(url: URL, head: ReceivedHead) {
        answer = ResponseStorage(url: url, head: head)
    }

    /// On the heap: a response is handed on a dozen times, and a URL alone is five references.
    private let answer: ResponseStorage

    private final class ResponseStorage: Sendable {
        let url: URL
        let head: ReceivedHead

        init(url: URL, head: ReceivedHead) {
            self.url = url
            self.head = head
        }
    }

    /// The status code (RFC 9110 §15).
    public var statusCode: Int { head.statusCode }

    /// The version of HTTP in which the response came.
    public var httpVersion: HTTPVersion { head.httpVersion }

    /// The fields in the order received; values that are not UTF-8 are read as ISO-8859-1.
    public var headers: HTTPHeaders { head.headers }

    /// The words after the status code, if the server sent some; HTTP/2 has none.
    public var reasonPhrase: String? { head.reasonPhrase }

    /// The media type of the body in lower case without parameters, such as `text/html`.
    public var mimeType: String? { mediaType?.essence }

    /// The name of the text's encoding in lower case: the `charset` parameter of the media type.
    public var textEncoding: String? { mediaType?.parameter("charset")?.lowercased() }

    /// How many bytes of body are to come.
    ///
    /// `nil` when the response does not say, and when the body has a content coding: then `Content-Length` counts the
    /// encoded bytes, not the decoded ones.
    public var expectedContentLength: Int64? { head.contentLength }

    private var mediaType: MediaType? {
        head.value(for: "Content-Type").flatMap { MediaType($0) }
    }
}

extension HTTPResponse: SecretKeeping {
    /// The version, the status code and the URL without its secrets, in one line.
    package var text: String { "\(httpVersion) \(statusCode) \(url.redactedDescription)" }

    package var shownParts: KeyValuePairs<String, Any> {
        [
            "url": url.redactedDescription, "statusCode": statusCode, "httpVersion": httpVersion,
            "reasonPhrase": reasonPhrase as Any, "headers": headers, "history": history,
        ]
    }
}

extension HTTPResponse {
    /// The name under which the body might be saved.
    ///
    /// From `Content-Disposition` (RFC 6266): `filename*` before `filename`; else the last component of the URL's path.
    /// Always a bare name: what looks like a path is cut to its last component, control characters are dropped.
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

    /// Returns the last component of what may be a path, or nil when there is nothing left that can name a file.
    private static func bareName(_ text: String) -> String? {
        let scalars = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
        let component = scalars.split { $0 == "/" || $0 == "\\" }.last.map { String($0) } ?? ""
        let isDirectory = scalars.last == "/" || scalars.last == "\\"
        return isDirectory || component.isEmpty || component == "." || component == ".." ? nil : component
    }
}

/// Names the version of HTTP in which a response came.
@nonexhaustive
public enum HTTPVersion: Hashable, Sendable {
    /// HTTP/1.0 (RFC 1945).
    case http1_0
    /// HTTP/1.1 (RFC 9112).
    case http1_1
    /// HTTP/2 (RFC 9113).
    case http2
}

extension HTTPVersion: Described {
    /// The version as it is written in a status line, such as `HTTP/1.1`, or `HTTP/2`.
    package var text: String {
        switch self {
        case .http1_0: "HTTP/1.0"
        case .http1_1: "HTTP/1.1"
        case .http2: "HTTP/2"
        }
    }
}
