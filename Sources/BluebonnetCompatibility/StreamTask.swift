public import BluebonnetCallbacks
public import Foundation

extension StreamOf {
    /// What happens to values that the reader has not taken yet.
    public typealias BufferingPolicy = AsyncStream<Element>.Continuation.BufferingPolicy
}

/// A stream request whose body is read with sequences.
public struct DataStreamTask: Sendable {
    /// A sequence of the elements of a stream.
    public typealias Stream<Success: Sendable, Failure: Error> = StreamOf<DataStreamRequest.Stream<Success, Failure>>

    private let base: Bluebonnet.DataStreamTask

    init(_ base: Bluebonnet.DataStreamTask) { self.base = base }

    /// Returns a sequence of the pieces of the body, and of the completion.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether leaving the loop cancels the request; `true` by default.
    ///   - bufferingPolicy: Ignored; a slow loop slows the server down.
    /// - Returns: The sequence.
    public func streamingData(
        automaticallyCancelling: Bool = true, bufferingPolicy: Stream<Data, Never>.BufferingPolicy = .unbounded
    ) -> Stream<Data, Never> {
        base.streamingData(automaticallyCancelling: automaticallyCancelling).mapped { .init($0) }
    }

    /// Returns a sequence of the pieces of the body as text, and of the completion.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether leaving the loop cancels the request; `true` by default.
    ///   - bufferingPolicy: Ignored; a slow loop slows the server down.
    /// - Returns: The sequence.
    public func streamingStrings(
        automaticallyCancelling: Bool = true, bufferingPolicy: Stream<String, Never>.BufferingPolicy = .unbounded
    ) -> Stream<String, Never> {
        base.streamingStrings(automaticallyCancelling: automaticallyCancelling).mapped { .init($0) }
    }

    /// Returns a sequence of the values of a body of JSON values, and of the completion.
    ///
    /// - Parameters:
    ///   - type: The type of the values; usually, the compiler infers it.
    ///   - automaticallyCancelling: Whether leaving the loop cancels the request; `true` by default.
    ///   - bufferingPolicy: Ignored; a slow loop slows the server down.
    /// - Returns: The sequence.
    public func streamingDecodables<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, automaticallyCancelling: Bool = true,
        bufferingPolicy: Stream<Value, AFError>.BufferingPolicy = .unbounded
    ) -> Stream<Value, AFError> {
        base.streamingDecodables(type, decoder: JSONDecoder(), automaticallyCancelling: automaticallyCancelling)
            .mapped { .init($0, mapError: AFError.init) }
    }

    /// Returns a sequence of values that a serializer makes of the pieces of the body, and of the completion.
    ///
    /// - Parameters:
    ///   - serializer: The serializer.
    ///   - automaticallyCancelling: Whether leaving the loop cancels the request; `true` by default.
    ///   - bufferingPolicy: Ignored; a slow loop slows the server down.
    /// - Returns: The sequence.
    public func streamingResponses<Serializer: DataStreamSerializer>(
        serializedUsing serializer: Serializer, automaticallyCancelling: Bool = true,
        bufferingPolicy: Stream<Serializer.SerializedObject, AFError>.BufferingPolicy = .unbounded
    ) -> Stream<Serializer.SerializedObject, AFError> {
        base.streamingResponses(using: serializer, automaticallyCancelling: automaticallyCancelling).mapped {
            .init($0, mapError: AFError.init)
        }
    }

    /// Cancels the request.
    public func cancel() { base.cancel() }

    /// Starts the request, or continues it after `suspend()`.
    public func resume() { base.resume() }

    /// Suspends the request.
    public func suspend() { base.suspend() }
}

extension DataStreamRequest {
    /// Returns a task that reads the body with sequences.
    public func streamTask() -> DataStreamTask { DataStreamTask(resumedIfSuspended().streamBase.streamTask()) }
}
