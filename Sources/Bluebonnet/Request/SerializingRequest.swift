public import FoundationEssentials

/// A request whose complete response can be serialized, which means converted to a Swift value.
///
/// ``DataRequest`` and ``DownloadRequest`` conform to this protocol. Each `serializing…` method adds a serializer to
/// the request, and immediately returns a ``SerializingTask``, whose value you await. The method also starts the
/// request. If the request is suspended, or if the session was created with `startRequestsImmediately: false`, you must
/// call ``Request/resume()``.
///
/// For a download, the whole file is read into memory for each serializer, and the file is not removed. If the file has
/// more than ``Session/Configuration/maximumResponseBytes`` bytes, the serialization fails with
/// `.invalidResponse(.bodyTooLarge)`. ``DownloadRequest/serializingURL(automaticallyCancelling:)`` does not read the
/// file, so this limit does not apply.
public protocol SerializingRequest: Request {}

extension SerializingRequest {
    /// Returns a task whose value is the body as bytes.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether the request is cancelled when a Swift task that awaits the value is
    ///     cancelled; `true` by default.
    ///   - dataPreprocessor: The preprocessor to apply to the body before serialization; none by default.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body; `HEAD` by default.
    /// - Returns: A task whose value is a `Data`.
    #if compiler(>=6.3)
        @specialized(where Self == DataRequest)
    #endif
    public nonisolated func serializingData(
        automaticallyCancelling: Bool = true, dataPreprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> SerializingTask<Self, Data> {
        serializingResponse(
            using: DataResponseSerializer(
                dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling: automaticallyCancelling)
    }

    /// Returns a task that succeeds with any body, or without a body.
    ///
    /// Use this method if only the success of the request matters. The body is received, and is available as
    /// ``SerializedResponse/data``.
    ///
    /// - Parameter automaticallyCancelling: Whether the request is cancelled when a Swift task that awaits the value is
    ///   cancelled; `true` by default.
    /// - Returns: A task without a value.
    public nonisolated func serializingNothing(automaticallyCancelling: Bool = true) -> SerializingTask<Self, Void> {
        serializingResponse(using: NothingSerializer(), automaticallyCancelling: automaticallyCancelling)
    }

    /// Returns a task whose value is the body as text.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether the request is cancelled when a Swift task that awaits the value is
    ///     cancelled; `true` by default.
    ///   - dataPreprocessor: The preprocessor to apply to the body before serialization; none by default.
    ///   - encoding: The encoding of the text, or `nil` to detect the encoding as described in
    ///     ``StringResponseSerializer``; `nil` by default.
    ///   - replacesMalformedBytes: Whether U+FFFD replaces malformed bytes; otherwise, they are an error, which is the
    ///     default.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body; `HEAD` by default.
    /// - Returns: A task whose value is a `String`.
    #if compiler(>=6.3)
        @specialized(where Self == DataRequest)
    #endif
    public nonisolated func serializingString(
        automaticallyCancelling: Bool = true, dataPreprocessor: any DataPreprocessor = .passthrough,
        encoding: String.Encoding? = nil, replacesMalformedBytes: Bool = false,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> SerializingTask<Self, String> {
        serializingResponse(
            using: StringResponseSerializer(
                dataPreprocessor: dataPreprocessor, encoding: encoding,
                replacesMalformedBytes: replacesMalformedBytes, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling: automaticallyCancelling)
    }

    /// Returns a task whose value is the body as a JSON value (RFC 8259).
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether the request is cancelled when a Swift task that awaits the value is
    ///     cancelled; `true` by default.
    ///   - dataPreprocessor: The preprocessor to apply to the body before serialization; none by default.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body; `HEAD` by default.
    /// - Returns: A task whose value is a ``JSONValue``.
    #if compiler(>=6.3)
        @specialized(where Self == DataRequest)
    #endif
    public nonisolated func serializingJSON(
        automaticallyCancelling: Bool = true, dataPreprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> SerializingTask<Self, JSONValue> {
        serializingResponse(
            using: JSONResponseSerializer(
                dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling: automaticallyCancelling)
    }

    /// Returns a task whose value is decoded from the body.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - automaticallyCancelling: Whether the request is cancelled when a Swift task that awaits the value is
    ///     cancelled; `true` by default.
    ///   - dataPreprocessor: The preprocessor to apply to the body before serialization; none by default.
    ///   - decoder: The decoder for the body; the session's decoder by default.
    ///   - emptyResponseCodes: The status codes whose responses may have an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body; `HEAD` by default.
    /// - Returns: A task with the decoded value.
    public nonisolated func serializingDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, automaticallyCancelling: Bool = true,
        dataPreprocessor: any DataPreprocessor = .passthrough, decoder: (any DataDecoder)? = nil,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> SerializingTask<Self, Value> {
        serializingResponse(
            using: DecodableResponseSerializer(
                dataPreprocessor: dataPreprocessor, decoder: decoder ?? sessionDecoder,
                emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods),
            automaticallyCancelling: automaticallyCancelling)
    }

    /// Returns a task whose value is created by a synchronous serializer.
    ///
    /// - Parameters:
    ///   - serializer: The serializer that converts the response.
    ///   - automaticallyCancelling: Whether the request is cancelled when a Swift task that awaits the value is
    ///     cancelled; `true` by default.
    /// - Returns: A task with the value of the serializer.
    package nonisolated func serializingResponse<Serializer: SynchronousResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling: Bool = true
    ) -> SerializingTask<Self, Serializer.SerializedObject> {
        task(PreparedSerializer(serializer), automaticallyCancelling)
    }

    /// Returns a task whose value is created by a serializer.
    ///
    /// - Parameters:
    ///   - serializer: The serializer that converts the response.
    ///   - automaticallyCancelling: Whether the request is cancelled when a Swift task that awaits the value is
    ///     cancelled; `true` by default.
    /// - Returns: A task with the value of the serializer.
    public nonisolated func serializingResponse<Serializer: ResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling: Bool = true
    ) -> SerializingTask<Self, Serializer.SerializedObject> {
        task(PreparedSerializer(serializer), automaticallyCancelling)
    }

    fileprivate nonisolated func task<Value>(
        _ serializer: PreparedSerializer<Value>, _ automaticallyCancelling: Bool, readsFile: Bool = true
    ) -> SerializingTask<Self, Value> {
        // A Swift task that is already cancelled will not await the value.
        if automaticallyCancelling, Task.isCancelled { cancel() }
        let slot = core.slot(for: serializer, of: Self.self, readsFile: readsFile)
        core.attach(slot, startsImmediately: core.context.startsRequestsImmediately, for: self)
        return SerializingTask(request: self, slot: slot, automaticallyCancelling: automaticallyCancelling)
    }
}

extension RequestCore {
    fileprivate func slot<Value, Source: SerializingRequest>(
        for serializer: PreparedSerializer<Value>, of source: Source.Type, readsFile: Bool
    ) -> SerializationSlot {
        let isDownload = source == DownloadRequest.self
        return SerializationSlot(
            serializer,
            fileReading: isDownload && readsFile ? .whole(limit: context.configuration.maximumResponseBytes) : .none,
            report: events?.answer(to: source, Value.self))
    }
}

extension DataRequest: SerializingRequest {}

extension DownloadRequest: SerializingRequest {
    /// Returns a task whose value is the URL of the downloaded file.
    ///
    /// The value is available when the complete file has been moved to its destination. This method returns
    /// immediately. It also starts the request. If the request is suspended, or if the session was created with
    /// `startRequestsImmediately: false`, you must call ``Request/resume()``.
    ///
    /// - Parameter automaticallyCancelling: Whether the request is cancelled when a Swift task that awaits the value is
    ///   cancelled; `true` by default.
    /// - Returns: A task whose value is a file URL.
    public nonisolated func serializingURL(automaticallyCancelling: Bool = true) -> DownloadTask<URL> {
        serializingFile(using: URLResponseSerializer(), automaticallyCancelling: automaticallyCancelling)
    }

    /// Returns a task with a value that a serializer makes of the file, without reading the file into memory first.
    package nonisolated func serializingFile<Serializer: ResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling: Bool
    ) -> DownloadTask<Serializer.SerializedObject> {
        task(PreparedSerializer(serializer), automaticallyCancelling, readsFile: false)
    }
}
