public import Bluebonnet

extension LocalServer {
    /// The routes of a server, which create the responses to its requests.
    ///
    /// Each route has a path. The server compares this path with the percent-encoded path of the request, segment by
    /// segment. There are two kinds of placeholders. A segment `:name` matches any segment that is not empty. The route
    /// receives the value of this segment in ``Request/parameters``. A last segment `*` matches any number of remaining
    /// segments, including zero.
    ///
    /// - A path without placeholders takes precedence over a path with placeholders. If several paths with placeholders
    ///   match, the path that was added first takes precedence.
    /// - A second route for the same path and method replaces the first route.
    /// - If no route matches the path, the response is 404. If routes match the path, but no matching route has the
    ///   method of the request, the response is 405. A fallback route replaces both responses.
    /// - A GET route also handles HEAD requests if there is no HEAD route.
    ///
    /// The closures of routes run on the global executor, in one task for each request. The task is cancelled when the
    /// client disconnects or the server stops. If a closure throws an error, the response is 500 with the text of the
    /// error.
    public struct Router: Sendable {
        /// A closure that returns the response to a request.
        package typealias Handler = @Sendable (Request) async throws -> Response

        /// The kinds of routes.
        enum Endpoint: Sendable {
            /// The same response to each request, which is sent on the event loop.
            case fixed(Response)
            case handler(Handler)
            /// A handler that is called before the body has been received.
            case streaming(StreamingRoute)
        }

        fileprivate(set) var table = RouteTable<Endpoint>()

        init() {}

        /// Adds a route with a closure that returns the response, for one method or for all methods.
        ///
        /// - Parameters:
        ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
        ///   - method: The HTTP method; `nil`, the default, means all methods.
        ///   - handler: A closure that returns the response.
        public mutating func on(
            _ path: String, method: HTTPMethod? = nil,
            _ handler: @escaping @Sendable (_ request: Request) async throws -> Response
        ) {
            table.set(.handler(handler), path: path, method: method)
        }

        /// Adds a route with a fixed response.
        ///
        /// This kind of route is the fastest.
        ///
        /// - Parameters:
        ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
        ///   - method: The HTTP method; `nil`, the default, means all methods.
        ///   - response: The response to each request.
        public mutating func on(_ path: String, method: HTTPMethod? = nil, _ response: Response) {
            table.set(Self.endpoint(response), path: path, method: method)
        }

        /// Sets the fallback route, which handles the requests that match no other route.
        ///
        /// - Parameter handler: A closure that returns the response.
        public mutating func fallback(
            _ handler: @escaping @Sendable (_ request: Request) async throws -> Response
        ) {
            table.fallback = .handler(handler)
        }

        /// Sets a fixed response for requests that match no other route.
        ///
        /// - Parameter response: The response to each of these requests.
        public mutating func fallback(_ response: Response) {
            table.fallback = Self.endpoint(response)
        }

        /// The event loop sends a fixed response at once, so another one needs a task.
        private static func endpoint(_ response: Response) -> Endpoint {
            let isWhole = if case .stream = response.body { false } else { true }
            return isWhole && response.delay == nil ? .fixed(response) : .handler { _ in response }
        }
    }
}

extension LocalServer.Router {
    /// A closure that is called before the body of the request has been received.
    package typealias StreamingHandler =
        @Sendable (LocalServer.Request, LocalServer.BodyReader) async throws -> LocalServer.Response

    /// A route that reads the body itself.
    struct StreamingRoute: Sendable {
        let continues: LocalServer.ContinuePolicy
        let handler: StreamingHandler
    }

    /// Adds a route that starts when the head of a request has been received, and reads the body in pieces.
    ///
    /// The route can return its response at any time. A streamed response can read the request body while it writes the
    /// response body:
    ///
    /// ```swift
    /// router.streaming("/echo", method: .post) { _, body in
    ///     .stream { writer in
    ///         for try await piece in body { try await writer.write(piece) }
    ///     }
    /// }
    /// ```
    ///
    /// When the response is complete, the server reads and discards the rest of the request body, so that the
    /// connection can be reused. If the response has the field `Connection: close`, the server closes the connection
    /// instead. The response can also be a ``LocalServer/Script``. The script cannot read the bytes of the request body
    /// that the server has already buffered for the route.
    ///
    /// The request that the route receives has an empty body and no trailers. Its ``LocalServer/Request/sequence`` is
    /// 0, because the server has not recorded the request yet. The server records the request when the body is
    /// complete, or when no more bytes of the body can arrive.
    ///
    /// When the client closes the connection, the server cancels the task of the route. There is one exception. While
    /// the route does not read the body, the buffers of the system can become full. The server then detects only a
    /// reset of the connection (`RST`).
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - method: The HTTP method; `nil`, the default, means all methods.
    ///   - continues: Whether and when the server sends 100 (Continue); immediately by default.
    ///   - handler: A closure that returns the response. If the closure throws an error, the response is 500.
    ///     ``LocalServer/BodyReader/read()`` throws an error with a status code if the body is malformed. If the
    ///     closure rethrows this error, the response has this status code.
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
    /// Adds a route for GET and HEAD requests.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: A closure that returns the response.
    public mutating func get(
        _ path: String,
        _ handler: @escaping @Sendable (_ request: LocalServer.Request) async throws -> LocalServer.Response
    ) { on(path, method: .get, handler) }

    /// Adds a route for GET and HEAD requests with a fixed response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The response to each request.
    public mutating func get(_ path: String, _ response: LocalServer.Response) { on(path, method: .get, response) }

    /// Adds a route for POST requests.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: A closure that returns the response.
    public mutating func post(
        _ path: String,
        _ handler: @escaping @Sendable (_ request: LocalServer.Request) async throws -> LocalServer.Response
    ) { on(path, method: .post, handler) }

    /// Adds a route for POST requests with a fixed response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The response to each request.
    public mutating func post(_ path: String, _ response: LocalServer.Response) { on(path, method: .post, response) }

    /// Adds a route for PUT requests.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: A closure that returns the response.
    public mutating func put(
        _ path: String,
        _ handler: @escaping @Sendable (_ request: LocalServer.Request) async throws -> LocalServer.Response
    ) { on(path, method: .put, handler) }

    /// Adds a route for PUT requests with a fixed response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The response to each request.
    public mutating func put(_ path: String, _ response: LocalServer.Response) { on(path, method: .put, response) }

    /// Adds a route for PATCH requests.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: A closure that returns the response.
    public mutating func patch(
        _ path: String,
        _ handler: @escaping @Sendable (_ request: LocalServer.Request) async throws -> LocalServer.Response
    ) { on(path, method: .patch, handler) }

    /// Adds a route for PATCH requests with a fixed response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The response to each request.
    public mutating func patch(_ path: String, _ response: LocalServer.Response) { on(path, method: .patch, response) }

    /// Adds a route for DELETE requests.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: A closure that returns the response.
    public mutating func delete(
        _ path: String,
        _ handler: @escaping @Sendable (_ request: LocalServer.Request) async throws -> LocalServer.Response
    ) { on(path, method: .delete, handler) }

    /// Adds a route for DELETE requests with a fixed response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The response to each request.
    public mutating func delete(_ path: String, _ response: LocalServer.Response) {
        on(path, method: .delete, response)
    }
}
