extension DataStreamRequest {
    /// An event of a streamed response, with a method that cancels the request.
    public struct Stream<Success: Sendable, Failure: Error>: Sendable {
        /// The content of the event, which is a value, an error or the completion.
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

        /// Cancels the request for all of its readers.
        public func cancel() { request.cancel() }

        /// The value or the error for a part of the body, or `nil` for the completion.
        public var result: Result<Success, Failure>? {
            if case .stream(let result) = event { result } else { nil }
        }

        /// The value of the event; `nil` if the event is an error or the completion.
        public var value: Success? { try? result?.get() }

        /// The error if a part of the body could not be serialized; `nil` if the event is a value or the completion.
        public var error: Failure? { if case .failure(let error) = result { error } else { nil } }

        /// The completion; `nil` if the event is a value or an error.
        public var completion: Completion? { if case .complete(let completion) = event { completion } else { nil } }
    }

    /// The content of an event of a streamed response.
    public enum Event<Success: Sendable, Failure: Error>: Sendable {
        /// A part of the body was converted to a value, or the conversion failed.
        case stream(Result<Success, Failure>)
        /// The request has finished. This is the last event.
        case complete(Completion)
    }

    /// The outcome of a request with a streamed body.
    public struct Completion: Sendable {
        /// The last HTTP request that was sent, or `nil` if no request was sent.
        ///
        /// The value does not contain the header fields that the session adds.
        public let request: HTTPRequest?
        /// The head of the response, or `nil` if no response was received.
        public let response: HTTPResponse?
        /// The metrics of the last HTTP request and its response, or `nil` if the network was not used.
        public let metrics: TransferMetrics?
        /// The error of the request, or `nil` if the request has not failed.
        ///
        /// If the loop over the sequence began after another loop had received the beginning of the body, the error is
        /// `.bodyAlreadyRead`.
        public let error: RequestError?

        /// Creates a completion.
        ///
        /// - Parameters:
        ///   - request: The last HTTP request that was sent.
        ///   - response: The head of the response.
        ///   - metrics: The metrics of the last HTTP request and its response.
        ///   - error: The error of the request.
        package init(
            request: HTTPRequest?, response: HTTPResponse?, metrics: TransferMetrics?, error: RequestError?
        ) {
            self.request = request
            self.response = response
            self.metrics = metrics
            self.error = error
        }
    }

    /// Returns the completion for one reader.
    ///
    /// The reader's own error takes precedence over the error of the request.
    nonisolated func completion(failingWith readerError: RequestError?) -> Completion {
        Completion(request: request, response: response, metrics: metrics, error: readerError ?? error)
    }
}
