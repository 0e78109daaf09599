public import FoundationEssentials

/// A request whose complete response is converted to a value: a ``DataRequest`` or a ``DownloadRequest``.
///
/// Each `serializing…` method attaches a serializer, and returns a ``SerializingTask`` whose value you await. The
/// method returns at once, and starts the request unless the session or a suspension prevents that.
///
/// For a download, a serializer reads the file into memory, up to ``Session/Configuration/maximumResponseBytes``. The
/// file stays in place.
public protocol SerializingRequest: Request {}

extension SerializingRequest {
    /// Makes a task whose value is the unchanged body.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether cancelling a task that awaits the value cancels the request; `true` by
    ///     default.
    ///   - dataPreprocessor: The preprocessor that the body passes through before serialization; none by default.
    ///   - emptyResponseCodes: The status codes that allow an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The request methods that allow an empty body; HEAD by default.
    /// - Returns: A task whose value is a `Data`.
    @specialized(where Self == DataRequest)
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

    /// Makes a task whose value is the body as text.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether cancelling a task that awaits the value cancels the request; `true` by
    ///     default.
    ///   - dataPreprocessor: The preprocessor that the body passes through before serialization; none by default.
    ///   - encoding: The encoding of the text; `nil` by default. With `nil`, it is the encoding that the response
    ///     names. If the response names none, text that is valid UTF-8 is read as UTF-8, and other text as ISO-8859-1.
    ///   - emptyResponseCodes: The status codes that allow an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The request methods that allow an empty body; HEAD by default.
    /// - Returns: A task whose value is a `String`.
    @specialized(where Self == DataRequest)
    public nonisolated func serializingString(
        automaticallyCancelling: Bool = true, dataPreprocessor: any DataPreprocessor = .passthrough,
        encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> SerializingTask<Self, String> {
        serializingResponse(
            using: StringResponseSerializer(
                dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling: automaticallyCancelling)
    }

    /// Makes a task whose value is the body as JSON of any shape (RFC 8259).
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether cancelling a task that awaits the value cancels the request; `true` by
    ///     default.
    ///   - dataPreprocessor: The preprocessor that the body passes through before serialization; none by default.
    ///   - emptyResponseCodes: The status codes that allow an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The request methods that allow an empty body; HEAD by default.
    /// - Returns: A task whose value is a ``JSONValue``.
    @specialized(where Self == DataRequest)
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

    /// Makes a task whose value is decoded from the body.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - automaticallyCancelling: Whether cancelling a task that awaits the value cancels the request; `true` by
    ///     default.
    ///   - dataPreprocessor: The preprocessor that the body passes through before serialization; none by default.
    ///   - decoder: The decoder for the body; a `JSONDecoder` by default.
    ///   - emptyResponseCodes: The status codes that allow an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The request methods that allow an empty body; HEAD by default.
    /// - Returns: A task whose value has the decoded type.
    public nonisolated func serializingDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, automaticallyCancelling: Bool = true,
        dataPreprocessor: any DataPreprocessor = .passthrough, decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> SerializingTask<Self, Value> {
        serializingResponse(
            using: DecodableResponseSerializer(
                dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling: automaticallyCancelling)
    }

    /// Makes a task whose value is decoded from the body as a property list.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - automaticallyCancelling: Whether cancelling a task that awaits the value cancels the request; `true` by
    ///     default.
    ///   - dataPreprocessor: The preprocessor that the body passes through before serialization; none by default.
    ///   - decoder: The decoder for the property list.
    ///   - emptyResponseCodes: The status codes that allow an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The request methods that allow an empty body; HEAD by default.
    /// - Returns: The task.
    package nonisolated func serializingPropertyList<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, automaticallyCancelling: Bool = true,
        dataPreprocessor: any DataPreprocessor = .passthrough, decoder: PropertyListDecoder = PropertyListDecoder(),
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> SerializingTask<Self, Value> {
        serializingDecodable(
            type, automaticallyCancelling: automaticallyCancelling, dataPreprocessor: dataPreprocessor,
            decoder: decoder, emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods)
    }

    /// Makes a task whose value is made by a serializer that never suspends.
    ///
    /// - Parameters:
    ///   - serializer: The serializer that converts the response.
    ///   - automaticallyCancelling: Whether cancelling a task that awaits the value cancels the request; `true` by
    ///     default.
    /// - Returns: A task whose value the serializer makes.
    package nonisolated func serializingResponse<Serializer: SynchronousResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling: Bool = true
    ) -> SerializingTask<Self, Serializer.SerializedObject> {
        task(PreparedSerializer(serializer), automaticallyCancelling)
    }

    /// Makes a task whose value is made by your own serializer.
    ///
    /// - Parameters:
    ///   - serializer: The serializer that converts the response.
    ///   - automaticallyCancelling: Whether cancelling a task that awaits the value cancels the request; `true` by
    ///     default.
    /// - Returns: A task whose value the serializer makes.
    public nonisolated func serializingResponse<Serializer: ResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling: Bool = true
    ) -> SerializingTask<Self, Serializer.SerializedObject> {
        task(PreparedSerializer(serializer), automaticallyCancelling)
    }

    fileprivate nonisolated func task<Value>(
        _ serializer: PreparedSerializer<Value>, _ automaticallyCancelling: Bool, readsFile: Bool = true
    ) -> SerializingTask<Self, Value> {
        // A task that is already cancelled will not await the value.
        if automaticallyCancelling, Task.isCancelled { cancel() }
        let slot = core.slot(for: serializer, readsFile: readsFile)
        core.attach(slot, startsImmediately: core.context.startsRequestsImmediately, for: self)
        return SerializingTask(request: self, slot: slot, automaticallyCancelling: automaticallyCancelling)
    }
}

extension RequestCore {
    fileprivate func slot<Value>(for serializer: PreparedSerializer<Value>, readsFile: Bool) -> SerializationSlot {
        guard case .file = sink else {
            return SerializationSlot(serializer, report: events?.answer(to: DataRequest.self, Value.self))
        }
        return SerializationSlot(
            serializer,
            fileReading: readsFile ? .whole(limit: context.configuration.maximumResponseBytes) : .none,
            report: events?.answer(to: DownloadRequest.self, Value.self))
    }
}

extension DataRequest: SerializingRequest {}

extension DownloadRequest: SerializingRequest {
    /// Makes a task whose value is the URL of the downloaded file.
    ///
    /// The value is available when the file is complete and in place. This method returns at once, and starts the
    /// request unless the session or a suspension prevents that.
    ///
    /// - Parameter automaticallyCancelling: Whether cancelling a task that awaits the value cancels the request; `true`
    ///   by default.
    /// - Returns: A task whose value is a file URL.
    public nonisolated func serializingURL(automaticallyCancelling: Bool = true) -> DownloadTask<URL> {
        task(PreparedSerializer(URLResponseSerializer()), automaticallyCancelling, readsFile: false)
    }
}
