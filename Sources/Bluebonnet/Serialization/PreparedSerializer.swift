/// A serializer as the attempt loop runs it: its type erased, its errors wrapped and told which response they are about.
package enum PreparedSerializer<Value: Sendable>: Sendable {
    /// Runs without suspending.
    case synchronous(@Sendable (SerializerInput) throws(RequestError) -> Value)
    /// May suspend.
    case asynchronous(@Sendable (SerializerInput) async throws(RequestError) -> Value)

    /// Prepares a serializer that never awaits.
    package init(_ serializer: some SynchronousResponseSerializer<Value>) {
        self = .synchronous { input throws(RequestError) in
            do {
                // A function without `async` chooses the synchronous requirement.
                return try serializer.serialize(input)
            } catch {
                throw RequestError.wrappingSerializer(error).aboutIfMissing(input)
            }
        }
    }

    /// Prepares any serializer; generic code does not know that one never awaits.
    package init(_ serializer: some ResponseSerializer<Value>) {
        if let synchronous = serializer as? any SynchronousResponseSerializer<Value> {
            self.init(synchronous)
            return
        }
        self = .asynchronous { input async throws(RequestError) in
            do {
                return try await serializer.serialize(input)
            } catch {
                throw RequestError.wrappingSerializer(error).aboutIfMissing(input)
            }
        }
    }
}
