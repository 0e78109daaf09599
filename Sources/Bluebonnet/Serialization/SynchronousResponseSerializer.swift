/// Turns a complete response into a value without awaiting anything.
///
/// Conform to this protocol rather than to ``ResponseSerializer`` when `serialize` is not `async`: the request then runs
/// it without a suspension. All built-in serializers do.
public protocol SynchronousResponseSerializer<SerializedObject>: ResponseSerializer {
    /// Makes the value.
    ///
    /// Runs on the global pool, or on the executor that the awaiting task prefers, such as ``Session/executor``.
    ///
    /// - Parameter input: The exchange.
    /// - Returns: The value.
    /// - Throws: Any error; it ends the attempt.
    func serialize(_ input: SerializerInput) throws -> SerializedObject
}
