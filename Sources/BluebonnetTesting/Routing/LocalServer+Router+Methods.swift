import Bluebonnet

extension LocalServer.Router {
    /// Answers GET requests for a path, and HEAD requests.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: Makes the answer.
    public mutating func get(_ path: String, _ handler: @escaping Handler) { on(path, method: .get, handler) }

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
    public mutating func head(_ path: String, _ handler: @escaping Handler) { on(path, method: .head, handler) }

    /// Answers HEAD requests for a path with always the same response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The answer.
    public mutating func head(_ path: String, _ response: LocalServer.Response) { on(path, method: .head, response) }

    /// Answers POST requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: Makes the answer.
    public mutating func post(_ path: String, _ handler: @escaping Handler) { on(path, method: .post, handler) }

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
    public mutating func put(_ path: String, _ handler: @escaping Handler) { on(path, method: .put, handler) }

    /// Answers PUT requests for a path with always the same response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The answer.
    public mutating func put(_ path: String, _ response: LocalServer.Response) { on(path, method: .put, response) }

    /// Answers PATCH requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: Makes the answer.
    public mutating func patch(_ path: String, _ handler: @escaping Handler) { on(path, method: .patch, handler) }

    /// Answers PATCH requests for a path with always the same response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The answer.
    public mutating func patch(_ path: String, _ response: LocalServer.Response) { on(path, method: .patch, response) }

    /// Answers DELETE requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - handler: Makes the answer.
    public mutating func delete(_ path: String, _ handler: @escaping Handler) { on(path, method: .delete, handler) }

    /// Answers DELETE requests for a path with always the same response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - response: The answer.
    public mutating func delete(_ path: String, _ response: LocalServer.Response) {
        on(path, method: .delete, response)
    }

    /// Answers OPTIONS requests for a path.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash, or `*`; see ``LocalServer/Router``.
    ///   - handler: Makes the answer.
    public mutating func options(_ path: String, _ handler: @escaping Handler) { on(path, method: .options, handler) }

    /// Answers OPTIONS requests for a path with always the same response.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash, or `*`; see ``LocalServer/Router``.
    ///   - response: The answer.
    public mutating func options(_ path: String, _ response: LocalServer.Response) {
        on(path, method: .options, response)
    }
}
