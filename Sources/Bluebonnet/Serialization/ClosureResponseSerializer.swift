/// Makes a value with a closure: `ClosureResponseSerializer { input in … }`.
public struct ClosureResponseSerializer<SerializedObject: Sendable>: ResponseSerializer {
    private let body: @Sendable (SerializerInput) async throws -> SerializedObject

    /// Creates the serializer.
    ///
    /// - Parameter body: Makes the value. It is handed the body as it is, empty ones too. What it throws ends the attempt
    ///   as `.serialization(.customSerializationFailed)` with the thrown error as the underlying one.
    public init(_ body: @escaping @Sendable (SerializerInput) async throws -> SerializedObject) {
        self.body = body
    }

    /// Calls the closure.
    ///
    /// - Parameter input: The exchange.
    /// - Returns: The value.
    /// - Throws: What the closure throws.
    public func serialize(_ input: SerializerInput) async throws -> SerializedObject {
        try await body(input)
    }
}
