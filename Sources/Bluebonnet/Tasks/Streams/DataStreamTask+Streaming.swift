public import FoundationEssentials

extension DataStreamTask {
    /// Returns a sequence of the pieces of the body, with the completion as the last event.
    ///
    /// The elements are ``DataStreamRequest/Stream`` events. The sequence does not throw. If the request fails, the
    /// completion contains the error. If the Swift task of the loop is cancelled, the sequence ends without a
    /// completion. The request starts when a loop over the sequence begins.
    ///
    /// - Parameter automaticallyCancelling: Whether the request is cancelled when the loop ends early and no other loop
    ///   reads the body. The default is `nil`, which uses the setting of this task.
    /// - Returns: A sequence of events, each of which contains a value, an error or the completion.
    public func streamingData(
        automaticallyCancelling: Bool? = nil
    ) -> StreamOf<DataStreamRequest.Stream<Data, Never>> {
        stream(automaticallyCancelling, framer: { _ in PieceFramer() }) { $0.withoutFailure }
    }

    /// Returns a sequence of the pieces of the body as text, with the completion as the last event.
    ///
    /// The text is decoded as UTF-8, with U+FFFD in place of malformed bytes. A character that is split between two
    /// pieces is decoded correctly.
    ///
    /// The elements are ``DataStreamRequest/Stream`` events. The sequence does not throw. If the request fails, the
    /// completion contains the error. If the Swift task of the loop is cancelled, the sequence ends without a
    /// completion. The request starts when a loop over the sequence begins.
    ///
    /// - Parameter automaticallyCancelling: Whether the request is cancelled when the loop ends early and no other loop
    ///   reads the body. The default is `nil`, which uses the setting of this task.
    /// - Returns: A sequence of events, each of which contains a value, an error or the completion.
    public func streamingStrings(
        automaticallyCancelling: Bool? = nil
    ) -> StreamOf<DataStreamRequest.Stream<String, Never>> {
        stream(automaticallyCancelling, framer: { _ in TextPieceFramer() }) { $0.withoutFailure }
    }

    /// Returns a sequence of the lines of the body, with the completion as the last event.
    ///
    /// The lines are the same as in ``lines``. If a line is longer than 16 MiB, the next event contains the error, and
    /// the completion follows.
    ///
    /// The elements are ``DataStreamRequest/Stream`` events. The sequence does not throw. If the request fails, the
    /// completion contains the error. If the Swift task of the loop is cancelled, the sequence ends without a
    /// completion. The request starts when a loop over the sequence begins.
    ///
    /// - Parameter automaticallyCancelling: Whether the request is cancelled when the loop ends early and no other loop
    ///   reads the body. The default is `nil`, which uses the setting of this task.
    /// - Returns: A sequence of events, each of which contains a value, an error or the completion.
    public func streamingLines(
        automaticallyCancelling: Bool? = nil
    ) -> StreamOf<DataStreamRequest.Stream<String, RequestError>> {
        stream(automaticallyCancelling, framer: { TextLineFramer(charset: $0?.textEncoding) }) { $0 }
    }

    /// Returns a sequence of the values in a newline-delimited JSON body, with the completion as the last event.
    ///
    /// Blank lines are skipped. Objects and arrays do not need a line ending after them. If a line cannot be decoded,
    /// the next event contains the error, and the sequence continues with the next line. If a line is longer than
    /// 16 MiB, the next event contains the error, and the completion follows.
    ///
    /// Values are decoded on the global executor, or on the preferred executor of the Swift task that runs the loop. If
    /// ``DataStreamRequest/automaticallyCancelOnStreamError`` is `true`, any error event cancels the request.
    ///
    /// The elements are ``DataStreamRequest/Stream`` events. The sequence does not throw. If the request fails, the
    /// completion contains the error. If the Swift task of the loop is cancelled, the sequence ends without a
    /// completion. The request starts when a loop over the sequence begins.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder for each line; the session's decoder by default.
    ///   - automaticallyCancelling: Whether the request is cancelled when the loop ends early and no other loop reads
    ///     the body. The default is `nil`, which uses the setting of this task.
    /// - Returns: A sequence of events, each of which contains a value, an error or the completion.
    public func streamingDecodables<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, decoder: (any DataDecoder)? = nil,
        automaticallyCancelling: Bool? = nil
    ) -> StreamOf<DataStreamRequest.Stream<Value, RequestError>> {
        let decoder = decoder ?? request.sessionDecoder
        return stream(automaticallyCancelling, framer: { _ in NewlineDelimitedJSON(of: type, decoder: decoder) }) { $0 }
    }

    /// Returns a sequence of the values in a newline-delimited JSON body.
    ///
    /// This method is the same as ``streamingDecodables(_:decoder:automaticallyCancelling:)``, but the argument for the
    /// type has the label `of`.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder for each line; the session's decoder by default.
    ///   - automaticallyCancelling: Whether the request is cancelled when the loop ends early and no other loop reads
    ///     the body. The default is `nil`, which uses the setting of this task.
    /// - Returns: A sequence of events, each of which contains a value, an error or the completion.
    public func streamingDecodables<Value: Decodable & Sendable>(
        of type: Value.Type, decoder: (any DataDecoder)? = nil, automaticallyCancelling: Bool? = nil
    ) -> StreamOf<DataStreamRequest.Stream<Value, RequestError>> {
        streamingDecodables(type, decoder: decoder, automaticallyCancelling: automaticallyCancelling)
    }

    /// Returns a sequence of the values that a serializer creates from the pieces of the body.
    ///
    /// If the serializer throws an error, the next event contains the error, and the sequence continues with the next
    /// piece. If ``DataStreamRequest/automaticallyCancelOnStreamError`` is `true`, the error also cancels the request.
    /// The completion is the last event.
    ///
    /// The elements are ``DataStreamRequest/Stream`` events. The sequence does not throw. If the request fails, the
    /// completion contains the error. If the Swift task of the loop is cancelled, the sequence ends without a
    /// completion. The request starts when a loop over the sequence begins.
    ///
    /// - Parameters:
    ///   - serializer: The serializer that converts each piece to a value.
    ///   - automaticallyCancelling: Whether the request is cancelled when the loop ends early and no other loop reads
    ///     the body. The default is `nil`, which uses the setting of this task.
    /// - Returns: A sequence of events, each of which contains a value, an error or the completion.
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
        let task = with(automaticallyCancelling: automaticallyCancelling)
        return StreamOf { BodyEventSource(task.begin(), makeFramer: framer, transform: transform) }
    }
}

extension Result where Failure == RequestError {
    /// The success of a framer that never fails.
    fileprivate var withoutFailure: Result<Success, Never>? {
        if case .success(let element) = self { .success(element) } else { nil }
    }
}

/// Reads a streamed body for one reader, and returns events with elements, errors and the completion.
///
/// The framer runs on this actor, and the serializer runs on the global executor.
private actor BodyEventSource<Framer: BodyFramer, Success: Sendable, Failure: Error>: StreamSource {
    typealias Element = DataStreamRequest.Stream<Success, Failure>
    typealias Transform = @Sendable (Result<Framer.Element, RequestError>) async -> Result<Success, Failure>?

    private let request: DataStreamRequest
    private let reader: FramedReader<Framer>
    private let transform: Transform
    private var isBodyComplete = false
    private var isComplete = false
    /// The error of a reader that joined too late or cannot decode the body, or of a request that was cancelled because
    /// of an element.
    private var completionError: RequestError?

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
                // The failure is a RequestError, or Never.
                request.core.events?.streamed(result.mapError { .wrappingSerializer($0) })
                if case .failure(let error) = result, request.automaticallyCancelOnStreamError {
                    request.cancel()
                    // After the last element, the request may have finished before.
                    completionError = .cancelled(after: error as? RequestError)
                        .during(request.request, attempts: request.retryCount + 1)
                }
                return Element(event: .stream(result), request: request)
            }
            guard isBodyComplete else { continue }
            isComplete = true
            // A cancelled loop ends without the completion, because the request may not have finished.
            guard !Task.isCancelled else { return nil }
            let completion = request.completion(failingWith: completionError)
            return Element(event: .complete(completion), request: request)
        }
        return nil
    }

    /// Returns the next element or an error, or `nil` if more bytes were received or the body is complete.
    private func nextResult() async -> Result<Success, Failure>? {
        do throws(RequestError) {
            if let element = try reader.next() { return await transform(.success(element)) }
        } catch {
            // A framer cannot continue after this error.
            if case .invalidResponse = error.kind { reader.close() }
            return await transform(.failure(error))
        }
        do throws(RequestError) {
            isBodyComplete = try await !reader.receive()
        } catch {
            switch error.kind {
            case .bodyAlreadyRead, .serialization: completionError = error
            default: break  // The request has failed with this error.
            }
            reader.close()
        }
        return nil
    }
}

/// A framer that returns the pieces unchanged.
private struct PieceFramer: BodyFramer {
    private var piece: Data?

    mutating func append(_ piece: Data) { self.piece = piece }

    mutating func finish() {}

    mutating func next() -> Data? { piece.take() }
}

/// A framer that decodes the pieces as UTF-8, with U+FFFD in place of malformed bytes.
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
