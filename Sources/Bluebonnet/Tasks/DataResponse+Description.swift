import FoundationEssentials

extension DataResponse: CustomStringConvertible, CustomDebugStringConvertible {
    /// The value, or why there is none.
    public var description: String { "\(result)" }

    /// What was sent and what came back, in blocks.
    ///
    /// Fields that carry secrets, and what looks like one in bodies that are forms or JSON, are redacted. Bodies are shown
    /// where they are text of up to 100,000 bytes.
    public var debugDescription: String {
        var lines: [String] = []
        if let request {
            lines.append("[Request]: \(request.method.rawValue) \(request.url.redactedDescription)")
            lines += MessageDescription.lines(headers: request.headers, body: request.body?.data)
        } else {
            lines.append("[Request]: None")
        }
        if let response {
            lines.append("[Response]: \(response.url.redactedDescription)")
            lines.append("    [Status Code]: \(response.statusCode)")
            lines += MessageDescription.lines(headers: response.headers, body: data)
        } else {
            lines.append("[Response]: None")
        }
        lines.append("[Network Duration]: \(metrics.map { "\($0.total)" } ?? "None")")
        lines.append("[Serialization Duration]: \(serializationDuration)")
        lines.append("[Result]: \(result)")
        return lines.joined(separator: "\n")
    }
}

/// Describes the fields and the body of a request or a response.
private enum MessageDescription {
    /// The largest body that is shown, in bytes.
    static let bodyLimit = 100_000

    static func lines(headers: HTTPHeaders, body: Data?) -> [String] {
        let mediaType = headers["Content-Type"].flatMap { MediaType($0) }
        return block("Headers", headers.description) + block("Body", body ?? Data(), mediaType)
    }

    private static func block(_ name: String, _ text: String) -> [String] {
        guard !text.isEmpty else { return ["    [\(name)]: None"] }
        return ["    [\(name)]:"] + text.split { $0.isNewline }.map { "        \($0)" }
    }

    private static func block(_ name: String, _ body: Data, _ mediaType: MediaType?) -> [String] {
        guard !body.isEmpty else { return block(name, "") }
        guard let mediaType, isText(mediaType), body.count <= bodyLimit,
            let text = try? TextDecoder.decode(body, encoding: nil, charset: mediaType.parameter("charset"))
        else { return ["    [\(name)]: \(body.count) bytes"] }
        return block(name, Redaction.body(text, mediaType))
    }

    private static func isText(_ mediaType: MediaType) -> Bool {
        mediaType.type == "text"
            || ["json", "xml", "javascript", "x-www-form-urlencoded"].contains { mediaType.subtype.contains($0) }
    }
}
