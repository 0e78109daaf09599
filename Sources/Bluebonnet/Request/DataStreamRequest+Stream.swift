extension DataStreamRequest {
    /// An event of a stream, and the means to end the stream.
    public struct Stream<Success: Sendable, Failure: Error>: Sendable {
        /// What happened.
        public let event: Event<Success, Failure>

        private let request: DataStreamRequest

        /// Creates an event.
        ///
        /// - Parameters:
        ///   - event: What happened.
        ///   - request: The request that ``cancel()`` cancels.
        package init(event: Event<Success, Failure>, request: DataStreamRequest) {
            self.event = event
            self.request = request
        }

        /// Cancels the request, for all who read it.
        public func cancel() { request.cancel() }

        /// The value or the error that a piece of the body became; `nil` for the completion.
        public var result: Result<Success, Failure>? {
            if case .stream(let result) = event { result } else { nil }
        }

        /// The value that a piece of the body became, if it did.
        public var value: Success? { try? result?.get() }

        /// Why a piece of the body did not become a value.
        public var error: Failure? { if case .failure(let error) = result { error } else { nil } }

        /// How the request ended, once it has.
        public var completion: Completion? { if case .complete(let completion) = event { completion } else { nil } }
    }

    /// What happens in a stream.
    public enum Event<Success: Sendable, Failure: Error>: Sendable {
        /// A piece of the body came in, and became a value or an error.
        case stream(Result<Success, Failure>)
        /// The request has ended; this is the last event.
        case complete(Completion)
    }

    /// How a request ended whose body was streamed.
    public struct Completion: Sendable {
        /// The request of the last attempt, without the fields that the session adds; `nil` when there was none to send.
        public let request: HTTPRequest?
        /// The head of the response; `nil` when none came.
        public let response: HTTPResponse?
        /// What was measured; `nil` when the request never reached the network.
        public let metrics: TransferMetrics?
        /// Why the request failed, if it did; `.bodyAlreadyRead` for a reader that joined too late.
        public let error: RequestError?

        /// Creates the end of a stream.
        ///
        /// - Parameters:
        ///   - request: The request of the last attempt.
        ///   - response: The head of the response.
        ///   - metrics: What was measured.
        ///   - error: Why the request failed.
        package init(
            request: HTTPRequest?, response: HTTPResponse?, metrics: TransferMetrics?, error: RequestError?
        ) {
            self.request = request
            self.response = response
            self.metrics = metrics
            self.error = error
        }
    }

    /// How the request ended, for a reader that may have failed by itself.
    nonisolated func completion(failingWith readerError: RequestError?) -> Completion {
        Completion(request: request, response: response, metrics: metrics, error: readerError ?? error)
    }
}
