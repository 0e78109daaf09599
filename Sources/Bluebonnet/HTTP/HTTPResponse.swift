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
        answer = Answer(url: url, head: head)
    }

    /// On the heap: a response is handed on a dozen times, and a URL alone is five references.
    private let answer: Answer

    private final class Answer: Sendable {
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
    /// `nil` when the response does not say, and when the body has a content coding: then the length is that of the
    /// coded form, which nobody gets to see.
    public var expectedContentLength: Int64? { head.contentLength }

    private var mediaType: MediaType? {
        head.value(for: "Content-Type").flatMap { MediaType($0) }
    }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
    /// The version, the status code and the URL without its secrets, in one line.
    public var description: String { "\(httpVersion) \(statusCode) \(url.redactedDescription)" }

    /// A mirror without secrets.
    public var customMirror: Mirror {
        let children: KeyValuePairs<String, Any> = [
            "url": url.redactedDescription, "statusCode": statusCode, "httpVersion": httpVersion,
            "reasonPhrase": reasonPhrase as Any, "headers": headers, "history": history,
        ]
        return Mirror(self, children: children, displayStyle: .struct)
    }
}
