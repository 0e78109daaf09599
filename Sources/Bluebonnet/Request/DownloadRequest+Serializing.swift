public import FoundationEssentials

extension DownloadRequest {
    /// Makes a task whose value is the URL of the file, once it is complete and in its place.
    ///
    /// Starts the request, unless its session or a suspension holds it back, and returns at once.
    ///
    /// - Parameter automaticallyCancelling: Whether the request is cancelled when a task that awaits the value is; it is by
    ///   default.
    /// - Returns: The task.
    public nonisolated func serializingURL(automaticallyCancelling: Bool = true) -> DownloadTask<URL> {
        task(
            PreparedSerializer(URLResponseSerializer()), automaticallyCancelling,
            reading: SerializationSlot.FileReading.none)
    }

    /// Makes a task whose value is the body as it is.
    ///
    /// Starts the request, unless its session or a suspension holds it back, and returns at once.
    /// The file is read into memory, up to ``Session/Configuration/maximumResponseBytes``, and stays where it is.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether the request is cancelled when a task that awaits the value is; it is by
    ///     default.
    ///   - dataPreprocessor: What the body goes through first; nothing by default.
    ///   - emptyResponseCodes: The status codes with which an empty body is right; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which an empty body is right; HEAD by default.
    /// - Returns: The task.
    public nonisolated func serializingData(
        automaticallyCancelling: Bool = true, dataPreprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> DownloadTask<Data> {
        serializingResponse(
            using: DataResponseSerializer(
                dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling: automaticallyCancelling)
    }

    /// Makes a task whose value is the body as text.
    ///
    /// Starts the request, unless its session or a suspension holds it back, and returns at once.
    /// The file is read into memory, up to ``Session/Configuration/maximumResponseBytes``, and stays where it is.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether the request is cancelled when a task that awaits the value is; it is by
    ///     default.
    ///   - dataPreprocessor: What the body goes through first; nothing by default.
    ///   - encoding: The encoding; by default the one that the response names, or else UTF-8 or ISO-8859-1.
    ///   - emptyResponseCodes: The status codes with which an empty body is right; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which an empty body is right; HEAD by default.
    /// - Returns: The task.
    public nonisolated func serializingString(
        automaticallyCancelling: Bool = true, dataPreprocessor: any DataPreprocessor = .passthrough,
        encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> DownloadTask<String> {
        serializingResponse(
            using: StringResponseSerializer(
                dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling: automaticallyCancelling)
    }

    /// Makes a task whose value is the body as JSON of any shape (RFC 8259).
    ///
    /// Starts the request, unless its session or a suspension holds it back, and returns at once.
    /// The file is read into memory, up to ``Session/Configuration/maximumResponseBytes``, and stays where it is.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether the request is cancelled when a task that awaits the value is; it is by
    ///     default.
    ///   - dataPreprocessor: What the body goes through first; nothing by default.
    ///   - emptyResponseCodes: The status codes with which an empty body is right; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which an empty body is right; HEAD by default.
    /// - Returns: The task.
    public nonisolated func serializingJSON(
        automaticallyCancelling: Bool = true, dataPreprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> DownloadTask<JSONValue> {
        serializingResponse(
            using: JSONResponseSerializer(
                dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling: automaticallyCancelling)
    }

    /// Makes a task whose value is decoded from the body.
    ///
    /// Starts the request, unless its session or a suspension holds it back, and returns at once.
    /// The file is read into memory, up to ``Session/Configuration/maximumResponseBytes``, and stays where it is.
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
    ) -> DownloadTask<Value> {
        serializingResponse(
            using: DecodableResponseSerializer(
                dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods), automaticallyCancelling: automaticallyCancelling)
    }

    /// Makes a task whose value is decoded from the body as a property list.
    ///
    /// Starts the request, unless its session or a suspension holds it back, and returns at once.
    /// The file is read into memory, up to ``Session/Configuration/maximumResponseBytes``, and stays where it is.
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
    public nonisolated func serializingPropertyList<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, automaticallyCancelling: Bool = true,
        dataPreprocessor: any DataPreprocessor = .passthrough, decoder: PropertyListDecoder = PropertyListDecoder(),
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> DownloadTask<Value> {
        serializingDecodable(
            type, automaticallyCancelling: automaticallyCancelling, dataPreprocessor: dataPreprocessor,
            decoder: decoder, emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods)
    }

    /// Makes a task whose value a serializer that never suspends makes.
    ///
    /// Starts the request, unless its session or a suspension holds it back, and returns at once.
    /// The file is read into memory, up to ``Session/Configuration/maximumResponseBytes``, and stays where it is.
    ///
    /// - Parameters:
    ///   - serializer: The serializer.
    ///   - automaticallyCancelling: Whether the request is cancelled when a task that awaits the value is; it is by
    ///     default.
    /// - Returns: The task.
    public nonisolated func serializingResponse<Serializer: SynchronousResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling: Bool = true
    ) -> DownloadTask<Serializer.SerializedObject> {
        task(PreparedSerializer(serializer), automaticallyCancelling)
    }

    /// Makes a task whose value a serializer makes.
    ///
    /// Starts the request, unless its session or a suspension holds it back, and returns at once.
    /// The file is read into memory, up to ``Session/Configuration/maximumResponseBytes``, and stays where it is.
    ///
    /// - Parameters:
    ///   - serializer: The serializer.
    ///   - automaticallyCancelling: Whether the request is cancelled when a task that awaits the value is; it is by
    ///     default.
    /// - Returns: The task.
    public nonisolated func serializingResponse<Serializer: ResponseSerializer>(
        using serializer: Serializer, automaticallyCancelling: Bool = true
    ) -> DownloadTask<Serializer.SerializedObject> {
        task(PreparedSerializer(serializer), automaticallyCancelling)
    }

    private nonisolated func task<Value>(
        _ serializer: PreparedSerializer<Value>, _ automaticallyCancelling: Bool,
        reading: SerializationSlot.FileReading? = nil
    ) -> DownloadTask<Value> {
        // A task that is cancelled already is not going to await anything.
        if automaticallyCancelling, Task.isCancelled { cancel() }
        let limit = core.context.configuration.maximumResponseBytes
        let slot = SerializationSlot(
            serializer, fileReading: reading ?? .whole(limit: limit),
            report: core.events?.answerOfDownload(Value.self))
        core.attach(slot, startsImmediately: core.context.startsRequestsImmediately, for: self)
        return DownloadTask(request: self, slot: slot, automaticallyCancelling: automaticallyCancelling)
    }
}
