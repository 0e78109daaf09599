import FoundationEssentials

/// Describes an exchange in blocks of lines, for the debug descriptions of responses.
///
/// Fields that carry secrets, and what looks like one in bodies that are forms or JSON, are redacted.
struct ExchangeDescription {
    /// The largest body that is shown, in bytes.
    static let bodyLimit = 100_000

    let request: HTTPRequest?
    let response: HTTPResponse?
    let metrics: TransferMetrics?
    let serializationDuration: Duration
    /// The value or the error.
    let result: String

    /// Returns the text.
    ///
    /// - Parameter body: Returns the lines about what came after the response's head, for the type that its field names.
    /// - Returns: The lines, joined.
    func text(body: (MediaType?) -> [String]) -> String {
        var lines: [String] = []
        if let request {
            lines.append("[Request]: \(request.method.rawValue) \(request.url.redactedDescription)")
            lines += Self.block("Headers", request.headers.description)
            lines += Self.body(request.body?.data, Self.mediaType(request.headers))
        } else {
            lines.append("[Request]: None")
        }
        if let response {
            lines.append("[Response]: \(response.url.redactedDescription)")
            lines.append("    [Status Code]: \(response.statusCode)")
            lines += Self.block("Headers", response.headers.description)
            lines += body(Self.mediaType(response.headers))
        } else {
            lines.append("[Response]: None")
        }
        lines.append("[Network Duration]: \(metrics.map { "\($0.total)" } ?? "None")")
        lines.append("[Serialization Duration]: \(serializationDuration)")
        lines.append("[Result]: \(result)")
        return lines.joined(separator: "\n")
    }

    /// Returns the lines about a body that is in memory; it is shown where it is text and not too long.
    static func body(_ body: Data?, _ mediaType: MediaType?) -> [String] {
        guard let body, !body.isEmpty else { return block("Body", "") }
        guard let mediaType, isText(mediaType), body.count <= bodyLimit,
            let text = try? TextDecoder.decode(body, encoding: nil, charset: mediaType.parameter("charset"))
        else { return ["    [Body]: \(body.count) bytes"] }
        return block("Body", Redaction.body(text, mediaType))
    }

    private static func block(_ name: String, _ text: String) -> [String] {
        guard !text.isEmpty else { return ["    [\(name)]: None"] }
        return ["    [\(name)]:"] + text.split { $0.isNewline }.map { "        \($0)" }
    }

    private static func mediaType(_ headers: HTTPHeaders) -> MediaType? {
        headers["Content-Type"].flatMap { MediaType($0) }
    }

    private static func isText(_ mediaType: MediaType) -> Bool {
        mediaType.type == "text"
            || ["json", "xml", "javascript", "x-www-form-urlencoded"].contains { mediaType.subtype.contains($0) }
    }
}
