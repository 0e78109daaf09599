public import BluebonnetCallbacks
public import Foundation

extension StreamOf {
    /// The policy for values that the reader has not read yet.
    public typealias BufferingPolicy = AsyncStream<Element>.Continuation.BufferingPolicy
}

/// A task with which you read the body of a stream request as sequences.
public struct DataStreamTask: Sendable {
    /// A sequence of the elements of a stream.
    public typealias Stream<Success: Sendable, Failure: Error> = StreamOf<DataStreamRequest.Stream<Success, Failure>>

    private let base: Bluebonnet.DataStreamTask

    init(_ base: Bluebonnet.DataStreamTask) { self.base = base }

    /// Returns a sequence of the pieces of the body, and of the completion.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether the request is cancelled when the loop ends early; `true` by default.
    ///   - bufferingPolicy: Ignored. A slow loop slows down the transfer, so there is nothing to buffer.
    /// - Returns: The sequence.
    public func streamingData(
        automaticallyCancelling: Bool = true, bufferingPolicy: Stream<Data, Never>.BufferingPolicy = .unbounded
    ) -> Stream<Data, Never> {
        base.streamingData(automaticallyCancelling: automaticallyCancelling).mapped { .init($0) }
    }

    /// Returns a sequence of the pieces of the body as text, and of the completion.
    ///
    /// - Parameters:
    ///   - automaticallyCancelling: Whether the request is cancelled when the loop ends early; `true` by default.
    ///   - bufferingPolicy: Ignored. A slow loop slows down the transfer, so there is nothing to buffer.
    /// - Returns: The sequence.
    public func streamingStrings(
        automaticallyCancelling: Bool = true, bufferingPolicy: Stream<String, Never>.BufferingPolicy = .unbounded
    ) -> Stream<String, Never> {
        base.streamingStrings(automaticallyCancelling: automaticallyCancelling).mapped { .init($0) }
    }

    /// Returns a sequence of the decoded lines of the body, with the completion as the last event.
    ///
    /// - Parameters:
    ///   - type: The type of the values; usually, the compiler infers it.
    ///   - automaticallyCancelling: Whether the request is cancelled when the loop ends early; `true` by default.
    ///   - bufferingPolicy: Ignored. A slow loop slows down the transfer, so there is nothing to buffer.
    /// - Returns: The sequence.
    public func streamingDecodables<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, automaticallyCancelling: Bool = true,
        bufferingPolicy: Stream<Value, AFError>.BufferingPolicy = .unbounded
    ) -> Stream<Value, AFError> {
        base.streamingDecodables(type, decoder: JSONDecoder(), automaticallyCancelling: automaticallyCancelling)
            .mapped { .init($0, mapError: AFError.init) }
    }

    /// Returns a sequence of the values that a serializer creates from the pieces of the body, with the completion as
    /// the last event.
    ///
    /// - Parameters:
    ///   - serializer: The serializer.
    ///   - automaticallyCancelling: Whether the request is cancelled when the loop ends early; `true` by default.
    ///   - bufferingPolicy: Ignored. A slow loop slows down the transfer, so there is nothing to buffer.
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
    /// Returns a task with which you read the body as sequences.
    public func streamTask() -> DataStreamTask { DataStreamTask(resumedIfSuspended().streamBase.streamTask()) }
}
