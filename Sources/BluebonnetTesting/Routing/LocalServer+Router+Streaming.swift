public import Bluebonnet

extension LocalServer.Router {
    /// Answers a request of which the body is still to come.
    public typealias StreamingHandler =
        @Sendable (LocalServer.Request, LocalServer.BodyReader) async throws -> LocalServer.Response

    /// A route that reads the body itself.
    struct StreamingRoute: Sendable {
        let continues: LocalServer.ContinuePolicy
        let handler: StreamingHandler
    }

    /// Answers requests as soon as their heads are there, and reads their bodies piece by piece.
    ///
    /// The route may answer at any time. What is left of the body when the answer is complete is read and dropped, so
    /// that the connection can be used again; unless the response has the field `Connection: close`, with which the
    /// client gets the answer and then the end of the connection. A ``LocalServer/Script`` may stand for the answer; what
    /// has been taken from the socket ahead of the route is lost to it. A streamed response can go on reading the body while
    /// it is being written:
    ///
    /// ```swift
    /// router.streaming("/echo", method: .post) { _, body in
    ///     .stream { writer in
    ///         for try await piece in body { try await writer.write(piece) }
    ///     }
    /// }
    /// ```
    ///
    /// The request that the route gets has no body, no trailers, and the sequence number 0. It is recorded when its body
    /// is complete, or when it is clear that it will not be; see ``LocalServer/Request/bodyIsComplete``.
    ///
    /// While there is more that has not been read than the system's buffers hold, only a connection that is broken off
    /// (`RST`) shows; a route that does not read is not cancelled when the client ends its side then.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - method: The method; any if `nil`.
    ///   - continues: When to send 100 to a client that expects it.
    ///   - handler: Makes the answer. What it throws is answered with 500, and what ``LocalServer/BodyReader/read()``
    ///     throws for a malformed body with the status that is in the error.
    public mutating func streaming(
        _ path: String, method: HTTPMethod? = nil, continue continues: LocalServer.ContinuePolicy = .immediately,
        _ handler: @escaping StreamingHandler
    ) {
        set(.streaming(StreamingRoute(continues: continues, handler: handler)), path: path, method: method)
    }
}
