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
        public typealias Handler = @Sendable (Request) async throws -> Response

        /// How a route answers.
        enum Endpoint: Sendable {
            /// The same for each request, without leaving the loop.
            case fixed(Response)
            case handler(Handler)
            /// Without waiting for the body.
            case streaming(StreamingRoute)
        }

        private var table = RouteTable<Endpoint>()

        init() {}

        /// Answers requests for a path, of one method or of any.
        ///
        /// - Parameters:
        ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
        ///   - method: The method; any if `nil`.
        ///   - handler: Makes the answer.
        public mutating func on(_ path: String, method: HTTPMethod? = nil, _ handler: @escaping Handler) {
            set(.handler(handler), path: path, method: method)
        }

        /// Answers requests for a path with always the same response, which is the fastest.
        ///
        /// - Parameters:
        ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
        ///   - method: The method; any if `nil`.
        ///   - response: The answer.
        public mutating func on(_ path: String, method: HTTPMethod? = nil, _ response: Response) {
            set(.fixed(response), path: path, method: method)
        }

        /// Answers requests that no other route answers.
        ///
        /// - Parameter handler: Makes the answer.
        public mutating func otherwise(_ handler: @escaping Handler) {
            table.fallback = .handler(handler)
        }

        /// Answers requests that no other route answers with always the same response.
        ///
        /// - Parameter response: The answer.
        public mutating func otherwise(_ response: Response) {
            table.fallback = .fixed(response)
        }

        mutating func set(_ endpoint: Endpoint, path: String, method: HTTPMethod?) {
            table.set(endpoint, path: path, method: method)
        }

        /// What to do with a request.
        enum Match: Sendable {
            case endpoint(Endpoint, parameters: [String: String])
            case methodNotAllowed(allowed: [HTTPMethod])
            case notFound
        }

        func match(_ method: HTTPMethod, _ path: String) -> Match {
            switch table.match(method, path) {
            case .found(let endpoint, let parameters): .endpoint(endpoint, parameters: parameters)
            case .otherMethods(let methods): .methodNotAllowed(allowed: methods)
            case .nothing: .notFound
            }
        }
    }
}
