public import FoundationEssentials

/// Describes a response: its status and its fields, without the body (RFC 9110 §3.4).
///
/// Small to copy. The fields are parsed when they are first asked for.
public struct HTTPResponse: Sendable {
    /// The URL that answered.
    public let url: URL

    /// The head as it was received.
    package let head: ReceivedHead

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
        self.url = url
        head = ReceivedHead(statusCode: statusCode, httpVersion: httpVersion, headers: headers)
    }

    /// Creates a response from a head that was received.
    package init(url: URL, head: ReceivedHead) {
        self.url = url
        self.head = head
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
    public var expectedContentLength: Int64? {
        guard let text = head.value(for: "Content-Length"), let length = Self.length(text) else { return nil }
        guard head.value(for: "Transfer-Encoding") == nil else { return nil }
        guard let coding = head.value(for: "Content-Encoding") else { return length }
        return coding.isSameIgnoringCase(as: "identity") || coding.isEmpty ? length : nil
    }

    private var mediaType: MediaType? {
        head.value(for: "Content-Type").flatMap { MediaType($0) }
    }

    /// Returns the length that a field gives, also when it does so several times (RFC 9110 §8.6).
    private static func length(_ text: String) -> Int64? {
        guard text.utf8.contains(0x2c) else { return digits(text) }
        let lengths = text.split(separator: ",", omittingEmptySubsequences: false).map { digits($0.trimmed) }
        guard let first = lengths[0], lengths.allSatisfy({ $0 == first }) else { return nil }
        return first
    }

    private static func digits(_ text: some StringProtocol) -> Int64? {
        text.utf8.allSatisfy { $0 &- 0x30 < 10 } ? Int64(text) : nil
    }
}

extension HTTPResponse: CustomStringConvertible {
    /// The version, the status code and the URL without its secrets, in one line.
    public var description: String { "\(httpVersion) \(statusCode) \(url.redactedDescription)" }
}
