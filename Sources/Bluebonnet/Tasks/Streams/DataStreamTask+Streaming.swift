public import FoundationEssentials

extension DataStreamTask {
    /// Returns the body in pieces, as events that end with the completion.
    ///
    /// Starts the request. Never throws: the completion has the request's error.
    ///
    /// - Parameter automaticallyCancelling: Whether leaving the loop cancels the request; as the task says by default.
    /// - Returns: The sequence of events.
    public func streamingData(
        automaticallyCancelling: Bool? = nil
    ) -> StreamOf<DataStreamRequest.Stream<Data, Never>> {
        stream(automaticallyCancelling, framer: { _ in PieceFramer() }) { $0.withoutFailure }
    }

    /// Returns the body as text in pieces, as events that end with the completion.
    ///
    /// UTF-8, with U+FFFD for what is malformed; a character that is cut apart by the network comes whole. Starts the
    /// request. Never throws: the completion has the request's error.
    ///
    /// - Parameter automaticallyCancelling: Whether leaving the loop cancels the request; as the task says by default.
    /// - Returns: The sequence of events.
    public func streamingStrings(
        automaticallyCancelling: Bool? = nil
    ) -> StreamOf<DataStreamRequest.Stream<String, Never>> {
        stream(automaticallyCancelling, framer: { _ in TextPieceFramer() }) { $0.withoutFailure }
    }

    /// Returns the body as text line by line, as events that end with the completion.
    ///
    /// Lines are those of ``lines``. One of more than 16 MiB is an error, and the last event but the completion. Starts the
    /// request. Never throws: the completion has the request's error.
    ///
    /// - Parameter automaticallyCancelling: Whether leaving the loop cancels the request; as the task says by default.
    /// - Returns: The sequence of events.
    public func streamingLines(
        automaticallyCancelling: Bool? = nil
    ) -> StreamOf<DataStreamRequest.Stream<String, RequestError>> {
        stream(automaticallyCancelling, framer: { TextLineFramer(charset: $0?.textEncoding) }) { $0 }
    }

    /// Returns the values in a body of newline-delimited JSON, as events that end with the completion.
    ///
    /// A line that cannot be decoded is an event with an error, after which the next one follows; one of more than 16 MiB is
    /// the last event but the completion. Blank lines are skipped. Values are decoded on the global pool. Starts the
    /// request. Never throws: the completion has the request's error.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder of a line; JSON by default.
    ///   - automaticallyCancelling: Whether leaving the loop cancels the request; as the task says by default.
    /// - Returns: The sequence of events.
    public func streamingDecodables<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder(),
        automaticallyCancelling: Bool? = nil
    ) -> StreamOf<DataStreamRequest.Stream<Value, RequestError>> {
        stream(automaticallyCancelling, framer: { _ in NewlineDelimitedJSON(of: type, decoder: decoder) }) { $0 }
    }

    /// Returns the values in a body of newline-delimited JSON; see
    /// ``streamingDecodables(_:decoder:automaticallyCancelling:)``.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder of a line; JSON by default.
    ///   - automaticallyCancelling: Whether leaving the loop cancels the request; as the task says by default.
    /// - Returns: The sequence of events.
    public func streamingDecodables<Value: Decodable & Sendable>(
        of type: Value.Type, decoder: any DataDecoder = JSONDecoder(), automaticallyCancelling: Bool? = nil
    ) -> StreamOf<DataStreamRequest.Stream<Value, RequestError>> {
        streamingDecodables(type, decoder: decoder, automaticallyCancelling: automaticallyCancelling)
    }

    /// Returns what a serializer of your own makes of the body's pieces, as events that end with the completion.
    ///
    /// A piece of which the serializer makes no value is an event with an error, after which the next one follows. Starts
    /// the request. Never throws: the completion has the request's error.
    ///
    /// - Parameters:
    ///   - serializer: Makes a value of each piece, on the global pool.
    ///   - automaticallyCancelling: Whether leaving the loop cancels the request; as the task says by default.
    /// - Returns: The sequence of events.
    public func streamingResponses<Serializer: DataStreamSerializer>(
        using serializer: Serializer, automaticallyCancelling: Bool? = nil
    ) -> StreamOf<DataStreamRequest.Stream<Serializer.SerializedObject, RequestError>> {
        stream(automaticallyCancelling, framer: { _ in PieceFramer() }) { result in
            do {
                return .success(try await serializer.serialize(result.get()))
            } catch {
                let error =
                    error as? RequestError
                    ?? RequestError(.serialization(.customSerializationFailed), underlying: error)
                return .failure(error)
            }
        }
    }

    private func stream<Framer: BodyFramer, Success: Sendable, Failure: Error>(
        _ automaticallyCancelling: Bool?, framer: @escaping @Sendable (HTTPResponse?) -> Framer,
        transform: @escaping EventStream<Framer, Success, Failure>.Transform
    ) -> StreamOf<DataStreamRequest.Stream<Success, Failure>> {
        beginning(automaticallyCancelling ?? self.automaticallyCancelling) { makeObservation in
            StreamOf { EventStream(makeObservation(), makeFramer: framer, transform: transform) }
        }
    }
}

extension Result where Failure == RequestError {
    /// The success; of a framer that does not fail, there is nothing else.
    fileprivate var withoutFailure: Result<Success, Never>? {
        if case .success(let element) = self { .success(element) } else { nil }
    }
}
