public import FoundationEssentials

extension DataStreamTask {
    /// The body as text, line by line, without the line ends.
    ///
    /// Lines end with LF or CRLF, the last one also with the body. The text is decoded as the response's `charset` says,
    /// as UTF-8 by default, with U+FFFD for what is malformed. Starts the request. The loop throws a ``RequestError`` if
    /// the request fails, and `.invalidResponse(.bodyTooLarge)` if a line has more than 16 MiB. Lines are split where the
    /// loop runs.
    public var lines: some AsyncSequence<String, RequestError> & Sendable {
        FramedBody(offer: observation()) { TextLineFramer(charset: $0?.textEncoding) }
    }

    /// The values in a body of newline-delimited JSON, or of any other format that has a value in each line.
    ///
    /// Blank lines are skipped. Starts the request. The loop throws a ``RequestError`` if the request fails,
    /// `.invalidResponse(.bodyTooLarge)` if a line has more than 16 MiB, and `.serialization(.decodingFailed)`, with the
    /// line's number in the detail, if one cannot be decoded; it ends with that. Values are decoded where the loop runs.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder of a line; JSON by default.
    /// - Returns: The sequence of values.
    public func decodables<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder()
    ) -> some AsyncSequence<Value, RequestError> & Sendable {
        FramedBody(offer: observation()) { _ in NewlineDelimitedJSON(of: type, decoder: decoder) }
    }

    /// The body as server-sent events (WHATWG HTML §9.2).
    ///
    /// Of this one response: the sequence ends with it, and an event that is not complete then is dropped. An
    /// ``EventSource`` reconnects. The content type is not looked at, unless a validator does. Starts the request. The loop
    /// throws a ``RequestError`` if the request fails, and `.invalidResponse(.bodyTooLarge)` if a line or the data of an
    /// event has more than 16 MiB.
    public var serverSentEvents: some AsyncSequence<ServerSentEvent, RequestError> & Sendable {
        FramedBody(offer: observation()) { _ in ServerSentEventParser() }
    }
}
