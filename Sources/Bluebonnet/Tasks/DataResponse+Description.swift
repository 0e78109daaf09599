extension DataResponse: CustomStringConvertible, CustomDebugStringConvertible {
    /// The value, or why there is none.
    public var description: String { "\(result)" }

    /// What was sent and what came back, in blocks.
    ///
    /// Fields that carry secrets, and what looks like one in bodies that are forms or JSON, are redacted. Bodies are shown
    /// where they are text of up to 100,000 bytes.
    public var debugDescription: String {
        ExchangeDescription(
            request: request, response: response, metrics: metrics, serializationDuration: serializationDuration,
            result: "\(result)"
        )
        .text { ExchangeDescription.body(data, $0) }
    }
}
