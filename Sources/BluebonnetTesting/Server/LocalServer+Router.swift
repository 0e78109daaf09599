public import Bluebonnet

extension LocalServer {
    /// Says which request is answered how.
    ///
    /// A path is compared with the request's as sent, segment by segment. A segment `:name` stands for any, which the
    /// route finds in ``Request/parameters``; a last segment `*` stands for the whole rest. A path without such segments
    /// goes before those with; among these, the first one given. A route given again replaces the earlier one.
    ///
    /// Routes run on the global pool, one task for each request, and may wait for anything. Their task is cancelled when
    /// the client goes away or the server stops. What they throw is answered with 500 and the error's text. A path
    /// without a route is answered with 404; a path that has one, but not for the method, with 405. A GET route answers
    /// HEAD, too, unless there is one for HEAD.
    public struct Router: Sendable {
        /// Answers a request.
        package typealias Handler = @Sendable (Request) async throws -> Response

        /// How a route answers.
        enum Endpoint: Sendable {
            /// The same for each request, without leaving the loop.
            case fixed(Response)
            case handler(Handler)
            /// Without waiting for the body.
            case streaming(StreamingRoute)
        }

        fileprivate(set) var table = RouteTable<Endpoint>()

        init() {}

        /// Answers requests for a path, of one method or of any.
        ///
        /// - Parameters:
        ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
        ///   - method: The method; any if `nil`.
        ///   - handler: Makes the answer.
        public mutating func on(
            _ path: String, method: HTTPMethod? = nil,
            _ handler: @escaping @Sendable (_ request: Request) async throws -> Response
        ) {
            table.set(.handler(handler), path: path, method: method)
        }

        /// Answers requests for a path with always the same response, which is the fastest.
        ///
        /// - Parameters:
        ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
        ///   - method: The method; any if `nil`.
        ///   - response: The answer.
        public mutating func on(_ path: String, method: HTTPMethod? = nil, _ response: Response) {
            table.set(.fixed(response), path: path, method: method)
        }

        /// Answers requests that no other route answers.
        ///
        /// - Parameter handler: Makes the answer.
        public mutating func fallback(
            _ handler: @escaping @Sendable (_ request: Request) async throws -> Response
        ) {
            table.fallback = .handler(handler)
        }

        /// Answers requests that no other route answers with always the same response.
        ///
        /// - Parameter response: The answer.
        public mutating func fallback(_ response: Response) {
            table.fallback = .fixed(response)
        }
    }
}

extension LocalServer.Router {
    /// Answers a request of which the body is still to come.
    package typealias StreamingHandler =
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
    /// client gets the answer and then the end of the connection. A ``LocalServer/Script`` may stand for the answer;
    /// what has been taken from the socket ahead of the route is lost to it. A streamed response can continue reading
    /// the body while it is being written:
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
    /// is complete, or when it is clear that it will not be.
    ///
    /// While there is more that has not been read than the system's buffers hold, only an aborted connection (`RST`)
    /// shows; a route that does not read is not cancelled when the client ends its side then.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - method: The method; any if `nil`.
    ///   - continues: When to send 100 to a client that expects it.
    ///   - handler: Makes the answer. What it throws is answered with 500, and what ``LocalServer/BodyReader/read()``
    ///     throws for a malformed body with the status that is in the error.
    public mutating func streaming(
        _ path: String, method: HTTPMethod? = nil, continue continues: LocalServer.ContinuePolicy = .immediately,
        _ handler:
            @escaping @Sendable (
                _ request: LocalServer.Request, _ body: LocalServer.BodyReader
            ) async throws -> LocalServer.Response
    ) {
        table.set(.streaming(StreamingRoute(continues: continues, handler: handler)), path: path, method: method)
    }
}

extension LocalServer.Router {
    /// Answers GET requests for a path, and HEAD requests.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: Makes the answer.
    public mutating func get(
        _ path: String,
        _ handler: @escaping @Sendable (_ request: LocalServer.Request) async throws -> LocalServer.Response
    ) { on(path, method: .get, handler) }

    /// Answers GET requests for a path with always the same response, and HEAD requests.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The answer.
    public mutating func get(_ path: String, _ response: LocalServer.Response) { on(path, method: .get, response) }

    /// Answers HEAD requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: Makes the answer, of which the body is not sent.
    package mutating func head(_ path: String, _ handler: @escaping Handler) { on(path, method: .head, handler) }

    /// Answers HEAD requests for a path with always the same response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The answer.
    package mutating func head(_ path: String, _ response: LocalServer.Response) { on(path, method: .head, response) }

    /// Answers POST requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: Makes the answer.
    public mutating func post(
        _ path: String,
        _ handler: @escaping @Sendable (_ request: LocalServer.Request) async throws -> LocalServer.Response
    ) { on(path, method: .post, handler) }

    /// Answers POST requests for a path with always the same response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The answer.
    public mutating func post(_ path: String, _ response: LocalServer.Response) { on(path, method: .post, response) }

    /// Answers PUT requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: Makes the answer.
    package mutating func put(_ path: String, _ handler: @escaping Handler) { on(path, method: .put, handler) }

    /// Answers PUT requests for a path with always the same response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The answer.
    package mutating func put(_ path: String, _ response: LocalServer.Response) { on(path, method: .put, response) }

    /// Answers PATCH requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: Makes the answer.
    package mutating func patch(_ path: String, _ handler: @escaping Handler) { on(path, method: .patch, handler) }

    /// Answers PATCH requests for a path with always the same response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The answer.
    package mutating func patch(_ path: String, _ response: LocalServer.Response) { on(path, method: .patch, response) }

    /// Answers DELETE requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: Makes the answer.
    package mutating func delete(_ path: String, _ handler: @escaping Handler) { on(path, method: .delete, handler) }

    /// Answers DELETE requests for a path with always the same response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The answer.
    package mutating func delete(_ path: String, _ response: LocalServer.Response) {
        on(path, method: .delete, response)
    }

    /// Answers OPTIONS requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash, or `*`; see ``LocalServer/Router``.
    ///   - handler: Makes the answer.
    package mutating func options(_ path: String, _ handler: @escaping Handler) { on(path, method: .options, handler) }

    /// Answers OPTIONS requests for a path with always the same response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash, or `*`; see ``LocalServer/Router``.
    ///   - response: The answer.
    package mutating func options(_ path: String, _ response: LocalServer.Response) {
        on(path, method: .options, response)
    }
}
