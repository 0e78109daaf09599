public import FoundationEssentials

/// A request whose complete response becomes a value: ``DataRequest`` and ``DownloadRequest``.
///
/// Each `serializing…` method attaches a serializer and makes a ``SerializingTask``, whose value is to be awaited. It
/// starts the request, unless its session or a suspension holds it back, and returns at once. Of a download, the file is
/// read into memory, up to ``Session/Configuration/maximumResponseBytes``, and stays where it is.
public protocol SerializingRequest: Request {}

extension SerializingRequest {
    /// Makes a task whose value is the body as it is.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether the request is cancelled when a task that awaits the value is; it is by
    ///     default.
    ///   - dataPreprocessor: What the body goes through first; nothing by default.
    ///   - emptyResponseCodes: The status codes with which an empty body is right; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which an empty body is right; HEAD by default.
    /// - Returns: The task.
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
    ///   - automaticallyCancelling: Whether the request is cancelled when a task that awaits the value is; it is by
    ///     default.
    ///   - dataPreprocessor: What the body goes through first; nothing by default.
    ///   - encoding: The encoding; by default the one that the response names, or else UTF-8 or ISO-8859-1.
    ///   - emptyResponseCodes: The status codes with which an empty body is right; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which an empty body is right; HEAD by default.
    /// - Returns: The task.
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
    ///   - automaticallyCancelling: Whether the request is cancelled when a task that awaits the value is; it is by
    ///     default.
    ///   - dataPreprocessor: What the body goes through first; nothing by default.
    ///   - emptyResponseCodes: The status codes with which an empty body is right; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which an empty body is right; HEAD by default.
    /// - Returns: The task.
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
    ///   - automaticallyCancelling: Whether the request is cancelled when a task that awaits the value is; it is by
    ///     default.
    ///   - dataPreprocessor: What the body goes through first; nothing by default.
    ///   - decoder: The decoder; JSON by default.
    ///   - emptyResponseCodes: The status codes with which an empty body is right; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which an empty body is right; HEAD by default.
    /// - Returns: The task.
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
    ///   - automaticallyCancelling: Whether the request is cancelled when a task that awaits the value is; it is by
    ///     default.
    ///   - dataPreprocessor: What the body goes through first; nothing by default.
    ///   - decoder: The decoder.
    ///   - emptyResponseCodes: The status codes with which an empty body is right; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which an empty body is right; HEAD by default.
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

    /// Makes a task whose value a serializer that never suspends makes.
    ///
    /// - Parameters:
    ///   - serializer: The serializer.
    ///   - automaticallyCancelling: Whether the request is cancelled when a task that awaits the value is; it is by
    ///     default.
    /// - Returns: The task.
    package nonisolated func serializingResponse<Serializer: SynchronousResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling: Bool = true
    ) -> SerializingTask<Self, Serializer.SerializedObject> {
        task(PreparedSerializer(serializer), automaticallyCancelling)
    }

    /// Makes a task whose value a serializer makes.
    ///
    /// - Parameters:
    ///   - serializer: The serializer.
    ///   - automaticallyCancelling: Whether the request is cancelled when a task that awaits the value is; it is by
    ///     default.
    /// - Returns: The task.
    public nonisolated func serializingResponse<Serializer: ResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling: Bool = true
    ) -> SerializingTask<Self, Serializer.SerializedObject> {
        task(PreparedSerializer(serializer), automaticallyCancelling)
    }

    fileprivate nonisolated func task<Value>(
        _ serializer: PreparedSerializer<Value>, _ automaticallyCancelling: Bool, readsFile: Bool = true
    ) -> SerializingTask<Self, Value> {
        // A task that is cancelled already is not going to await anything.
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
    /// Makes a task whose value is the URL of the file, once it is complete and in its place.
    ///
    /// Starts the request, unless its session or a suspension holds it back, and returns at once.
    ///
    /// - Parameter automaticallyCancelling: Whether the request is cancelled when a task that awaits the value is; it is by
    ///   default.
    /// - Returns: The task.
    public nonisolated func serializingURL(automaticallyCancelling: Bool = true) -> DownloadTask<URL> {
        task(PreparedSerializer(URLResponseSerializer()), automaticallyCancelling, readsFile: false)
    }
}
