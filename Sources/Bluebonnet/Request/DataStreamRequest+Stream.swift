extension DataStreamRequest {
    /// An event of a stream, with a method that cancels the request.
    public struct Stream<Success: Sendable, Failure: Error>: Sendable {
        /// The value, the error or the completion that this event carries.
        public let event: Event<Success, Failure>

        private let request: DataStreamRequest

        /// Creates an event.
        ///
        /// - Parameters:
        ///   - event: The value, the error or the completion.
        ///   - request: The request that ``cancel()`` cancels.
        package init(event: Event<Success, Failure>, request: DataStreamRequest) {
            self.event = event
            self.request = request
        }

        /// Cancels the request, for all of its readers.
        public func cancel() { request.cancel() }

        /// The value or the error that was made from a piece of the body; `nil` for the completion.
        public var result: Result<Success, Failure>? {
            if case .stream(let result) = event { result } else { nil }
        }

        /// The value that was made from a piece of the body; `nil` for an error or the completion.
        public var value: Success? { try? result?.get() }

        /// The error for a piece of the body that did not become a value; `nil` for a value or the completion.
        public var error: Failure? { if case .failure(let error) = result { error } else { nil } }

        /// The completion; `nil` for a value or an error.
        public var completion: Completion? { if case .complete(let completion) = event { completion } else { nil } }
    }

    /// An event of a stream.
    public enum Event<Success: Sendable, Failure: Error>: Sendable {
        /// A piece of the body arrived, and a value or an error was made from it.
        case stream(Result<Success, Failure>)
        /// The request has ended; this is the last event.
        case complete(Completion)
    }

    /// The outcome of a request whose body was streamed.
    public struct Completion: Sendable {
        /// The request of the last attempt, without the header fields that the session adds; `nil` if no request could
        /// be made.
        public let request: HTTPRequest?
        /// The head of the response; `nil` if no response arrived.
        public let response: HTTPResponse?
        /// The metrics of the last exchange; `nil` if the request never reached the network.
        public let metrics: TransferMetrics?
        /// The error of a request that failed; `.bodyAlreadyRead` for a reader that joined too late.
        public let error: RequestError?

        /// Creates a completion.
        ///
        /// - Parameters:
        ///   - request: The request of the last attempt.
        ///   - response: The head of the response.
        ///   - metrics: The metrics of the last exchange.
        ///   - error: The error of a request that failed.
        package init(
            request: HTTPRequest?, response: HTTPResponse?, metrics: TransferMetrics?, error: RequestError?
        ) {
            self.request = request
            self.response = response
            self.metrics = metrics
            self.error = error
        }
    }

    /// The completion for one reader; the reader's own error takes precedence over the error of the request.
    nonisolated func completion(failingWith readerError: RequestError?) -> Completion {
        Completion(request: request, response: response, metrics: metrics, error: readerError ?? error)
    }
}
