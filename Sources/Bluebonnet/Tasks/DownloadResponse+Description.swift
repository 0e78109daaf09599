import FoundationEssentials

extension DownloadResponse: CustomStringConvertible, CustomDebugStringConvertible {
    /// The value, or why there is none.
    public var description: String { "\(result)" }

    /// What was sent, what came back and where it is, in blocks.
    ///
    /// Fields that carry secrets, and what looks like one in a request's body that is a form or JSON, are redacted. The
    /// file is named, not shown; of the resume data there is only the size.
    public var debugDescription: String {
        ExchangeDescription(
            request: request, response: response, metrics: metrics, serializationDuration: serializationDuration,
            result: "\(result)"
        )
        .text { _ in
            [
                "    [File]: \(fileURL.map { $0.path(percentEncoded: false).debugDescription } ?? "None")",
                "    [Resume Data]: \(resumeData.map { "\($0.count) bytes" } ?? "None")",
            ]
        }
    }
}
