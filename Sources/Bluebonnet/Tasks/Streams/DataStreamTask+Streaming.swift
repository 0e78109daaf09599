public import FoundationEssentials

extension DataStreamTask {
    /// Returns the body in pieces, as events that end with the completion.
    ///
    /// Never throws: the completion has the request's error.
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
    /// UTF-8, with U+FFFD for what is malformed; a character that is cut apart by the network comes whole. Never throws: the completion has the request's error.
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
    /// Lines are those of ``lines``. One of more than 16 MiB is an error, and the last event but the completion. Never throws: the completion has the request's error.
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
    /// the last event but the completion. Blank lines are skipped. Values are decoded on the global pool. Never throws: the completion has the request's error.
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
        transform: @escaping BodyEventSource<Framer, Success, Failure>.Transform
    ) -> StreamOf<DataStreamRequest.Stream<Success, Failure>> {
        let reading = reading(automaticallyCancelling: automaticallyCancelling)
        return StreamOf { BodyEventSource(reading.begin(), makeFramer: framer, transform: transform) }
    }
}

extension Result where Failure == RequestError {
    /// The success; of a framer that does not fail, there is nothing else.
    fileprivate var withoutFailure: Result<Success, Never>? {
        if case .success(let element) = self { .success(element) } else { nil }
    }
}

/// Reads a streamed body for one reader as events: an element or an error for each, and the completion last.
///
/// Runs here: the framer. The serializer runs on the global pool.
private actor BodyEventSource<Framer: BodyFramer, Success: Sendable, Failure: Error>: StreamSource {
    typealias Element = DataStreamRequest.Stream<Success, Failure>
    typealias Transform = @Sendable (Result<Framer.Element, RequestError>) async -> Result<Success, Failure>?

    private let request: DataStreamRequest
    private let reader: FramedReader<Framer>
    private let transform: Transform
    private var isBodyComplete = false
    private var isComplete = false
    /// Why this reader got nothing, if it came too late.
    private var lateReaderError: RequestError?

    init(
        _ streamReader: StreamReader, makeFramer: @escaping @Sendable (HTTPResponse?) -> Framer,
        transform: @escaping Transform
    ) {
        request = streamReader.request
        reader = FramedReader(streamReader, makeFramer: makeFramer)
        self.transform = transform
    }

    nonisolated(nonsending) func next() async -> Element? { await nextEvent() }

    private func nextEvent() async -> Element? {
        while !isComplete {
            if let result = await nextResult() {
                if let events = request.core.events { report(events, of: result) }
                if case .failure = result, request.automaticallyCancelOnStreamError { request.cancel() }
                return Element(event: .stream(result), request: request)
            }
            guard isBodyComplete else { continue }
            isComplete = true
            // A loop that was cancelled ends without the request's completion, which is yet to come.
            guard !Task.isCancelled else { return nil }
            let completion = request.completion(failingWith: lateReaderError)
            return Element(event: .complete(completion), request: request)
        }
        return nil
    }

    private func report(_ events: RequestEvents, of result: Result<Success, Failure>) {
        switch result {
        case .success(let value): events.streamed(Result<Success, RequestError>.success(value))
        case .failure(let error):
            guard let error = error as? RequestError else { return }
            events.streamed(Result<Success, RequestError>.failure(error))
        }
    }

    /// The next element, or the error in its place; nothing when there may be more, or the body is complete.
    private func nextResult() async -> Result<Success, Failure>? {
        do throws(RequestError) {
            if let element = try reader.next() { return await transform(.success(element)) }
        } catch {
            // A framer that cannot go on is done with.
            if case .invalidResponse = error.kind { reader.close() }
            return await transform(.failure(error))
        }
        do throws(RequestError) {
            isBodyComplete = try await !reader.receive()
        } catch {
            // The completion says why.
            if error.kind == .bodyAlreadyRead { lateReaderError = error }
            reader.close()
        }
        return nil
    }
}

/// Passes the pieces on as they are.
private struct PieceFramer: BodyFramer {
    private var piece: Data?

    mutating func append(_ piece: Data) { self.piece = piece }

    mutating func finish() {}

    mutating func next() -> Data? { piece.take() }
}

/// Makes text of the pieces: UTF-8, with U+FFFD for what is malformed.
private struct TextPieceFramer: BodyFramer {
    private var decoder = TextFramer(encoding: .utf8)
    private var text = ""

    mutating func append(_ piece: Data) throws(RequestError) { text += try decoder.decode(piece) }

    mutating func finish() throws(RequestError) { text += try decoder.finish() }

    mutating func next() -> String? {
        guard !text.isEmpty else { return nil }
        defer { text = "" }
        return text
    }
}
