public import Bluebonnet

extension LocalServer {
    /// The routes of a server: which request gets which answer.
    ///
    /// Paths are compared as sent, segment by segment. A segment `:name` matches any segment, and the route finds its
    /// value in ``Request/parameters``. A last segment `*` matches all remaining segments.
    ///
    /// - A path without such segments takes precedence over paths with them. Among the latter, the first route wins.
    /// - A second route for the same path and method replaces the first.
    /// - A path without a route is answered with 404. A path without a route for the method is answered with 405.
    /// - A GET route also answers HEAD requests, unless there is a HEAD route.
    ///
    /// Routes run on the global pool, in one task for each request, and may wait for anything. The task is cancelled
    /// when the client disconnects or the server stops. If a route throws, the answer is 500 with the error's text.
    public struct Router: Sendable {
        /// A closure that answers a request.
        package typealias Handler = @Sendable (Request) async throws -> Response

        /// The kinds of routes.
        enum Endpoint: Sendable {
            /// The same answer for each request, sent without leaving the loop.
            case fixed(Response)
            case handler(Handler)
            /// A handler that is called before the body has been received.
            case streaming(StreamingRoute)
        }

        fileprivate(set) var table = RouteTable<Endpoint>()

        init() {}

        /// Answers requests for a path with the result of a closure, for one method or for all methods.
        ///
        /// - Parameters:
        ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
        ///   - method: The HTTP method; `nil`, the default, for all methods.
        ///   - handler: A closure that returns the answer.
        public mutating func on(
            _ path: String, method: HTTPMethod? = nil,
            _ handler: @escaping @Sendable (_ request: Request) async throws -> Response
        ) {
            table.set(.handler(handler), path: path, method: method)
        }

        /// Answers requests for a path with a fixed response, which is the fastest kind of route.
        ///
        /// - Parameters:
        ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
        ///   - method: The HTTP method; `nil`, the default, for all methods.
        ///   - response: The response to each request.
        public mutating func on(_ path: String, method: HTTPMethod? = nil, _ response: Response) {
            table.set(.fixed(response), path: path, method: method)
        }

        /// Answers requests that match no other route.
        ///
        /// - Parameter handler: A closure that returns the answer.
        public mutating func fallback(
            _ handler: @escaping @Sendable (_ request: Request) async throws -> Response
        ) {
            table.fallback = .handler(handler)
        }

        /// Answers requests that match no other route with a fixed response.
        ///
        /// - Parameter response: The response to each such request.
        public mutating func fallback(_ response: Response) {
            table.fallback = .fixed(response)
        }
    }
}

extension LocalServer.Router {
    /// A closure that answers a request before its body has been received.
    package typealias StreamingHandler =
        @Sendable (LocalServer.Request, LocalServer.BodyReader) async throws -> LocalServer.Response

    /// A route that reads the body itself.
    struct StreamingRoute: Sendable {
        let continues: LocalServer.ContinuePolicy
        let handler: StreamingHandler
    }

    /// Answers requests as soon as their heads have been received; the route reads the body in pieces.
    ///
    /// The route may answer at any time. A streamed response can read the body while it writes its own:
    ///
    /// ```swift
    /// router.streaming("/echo", method: .post) { _, body in
    ///     .stream { writer in
    ///         for try await piece in body { try await writer.write(piece) }
    ///     }
    /// }
    /// ```
    ///
    /// When the answer is complete, the rest of the body is read and dropped, so that the connection can be reused. If
    /// the response has the field `Connection: close`, the connection is closed after the answer instead. The answer
    /// can also be a ``LocalServer/Script``; the script does not see bytes that the server has already read from the
    /// socket.
    ///
    /// The request that the route receives has no body, no trailers, and the sequence number 0. It is recorded when its
    /// body is complete, or when it is certain that the body stays incomplete.
    ///
    /// If more bytes are unread than the system's buffers hold, the server only notices an aborted connection (`RST`).
    /// In that case, a route that does not read is not cancelled when the client closes its side.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - method: The HTTP method; `nil`, the default, for all methods.
    ///   - continues: When to send 100 to a client that expects it; immediately by default.
    ///   - handler: A closure that returns the answer. If it throws, the answer is 500. If it passes on the error of
    ///     ``LocalServer/BodyReader/read()`` for a malformed body, the answer has the status in that error.
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
    /// Answers GET and HEAD requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: A closure that returns the answer.
    public mutating func get(
        _ path: String,
        _ handler: @escaping @Sendable (_ request: LocalServer.Request) async throws -> LocalServer.Response
    ) { on(path, method: .get, handler) }

    /// Answers GET and HEAD requests for a path with a fixed response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The response to each request.
    public mutating func get(_ path: String, _ response: LocalServer.Response) { on(path, method: .get, response) }

    /// Answers HEAD requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: A closure that returns the answer. Its body is not sent.
    package mutating func head(_ path: String, _ handler: @escaping Handler) { on(path, method: .head, handler) }

    /// Answers HEAD requests for a path with a fixed response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The response to each request.
    package mutating func head(_ path: String, _ response: LocalServer.Response) { on(path, method: .head, response) }

    /// Answers POST requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: A closure that returns the answer.
    public mutating func post(
        _ path: String,
        _ handler: @escaping @Sendable (_ request: LocalServer.Request) async throws -> LocalServer.Response
    ) { on(path, method: .post, handler) }

    /// Answers POST requests for a path with a fixed response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The response to each request.
    public mutating func post(_ path: String, _ response: LocalServer.Response) { on(path, method: .post, response) }

    /// Answers PUT requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: A closure that returns the answer.
    public mutating func put(
        _ path: String,
        _ handler: @escaping @Sendable (_ request: LocalServer.Request) async throws -> LocalServer.Response
    ) { on(path, method: .put, handler) }

    /// Answers PUT requests for a path with a fixed response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The response to each request.
    public mutating func put(_ path: String, _ response: LocalServer.Response) { on(path, method: .put, response) }

    /// Answers PATCH requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: A closure that returns the answer.
    public mutating func patch(
        _ path: String,
        _ handler: @escaping @Sendable (_ request: LocalServer.Request) async throws -> LocalServer.Response
    ) { on(path, method: .patch, handler) }

    /// Answers PATCH requests for a path with a fixed response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The response to each request.
    public mutating func patch(_ path: String, _ response: LocalServer.Response) { on(path, method: .patch, response) }

    /// Answers DELETE requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: A closure that returns the answer.
    public mutating func delete(
        _ path: String,
        _ handler: @escaping @Sendable (_ request: LocalServer.Request) async throws -> LocalServer.Response
    ) { on(path, method: .delete, handler) }

    /// Answers DELETE requests for a path with a fixed response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The response to each request.
    public mutating func delete(_ path: String, _ response: LocalServer.Response) {
        on(path, method: .delete, response)
    }

    /// Answers OPTIONS requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash, or `*`; see ``LocalServer/Router``.
    ///   - handler: A closure that returns the answer.
    package mutating func options(_ path: String, _ handler: @escaping Handler) { on(path, method: .options, handler) }

    /// Answers OPTIONS requests for a path with a fixed response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash, or `*`; see ``LocalServer/Router``.
    ///   - response: The response to each request.
    package mutating func options(_ path: String, _ response: LocalServer.Response) {
        on(path, method: .options, response)
    }
}
