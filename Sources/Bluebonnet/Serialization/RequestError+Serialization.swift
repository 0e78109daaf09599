extension RequestError {
    /// Returns what a serializer or preprocessor threw as a request's error, wrapped once.
    ///
    /// A ``RequestError`` stays itself, a `CancellationError` is a cancellation, all else is `.serialization(.customSerializationFailed)`.
    package static func wrappingSerializer(_ error: any Error) -> RequestError {
        switch error {
        case let error as RequestError: error
        case is CancellationError: RequestError(.cancelled, underlying: error)
        default: RequestError(.serialization(.customSerializationFailed), underlying: error)
        }
    }

    /// Returns the error with the response that could not be serialized, unless it has one already.
    func aboutIfMissing(_ input: SerializerInput) -> RequestError {
        guard response == nil, let response = input.response else { return self }
        return about(response, body: input.data)
    }
}
