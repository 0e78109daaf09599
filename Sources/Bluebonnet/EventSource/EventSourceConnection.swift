package import FoundationEssentials

/// A connection of an ``EventSource`` whose response has begun.
package struct EventSourceConnection: Sendable {
    /// The head of the response.
    package let response: HTTPResponse
    /// The body, decoded from its content coding; iterated once or never.
    package let chunks: any AsyncSequence<Data, RequestError> & Sendable
    /// Closes the connection, also one that is closed already, and ends a wait for the next chunk.
    ///
    /// Callable from anywhere, cancellation handlers included, so it must not block.
    package let cancel: @Sendable () -> Void

    package init(
        response: HTTPResponse, chunks: any AsyncSequence<Data, RequestError> & Sendable,
        cancel: @escaping @Sendable () -> Void
    ) {
        self.response = response
        self.chunks = chunks
        self.cancel = cancel
    }
}
