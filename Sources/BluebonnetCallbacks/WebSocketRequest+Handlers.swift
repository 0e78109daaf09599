public import Bluebonnet
public import Dispatch

nonisolated extension Session {
    /// Creates a request that opens a WebSocket, with the same effect as
    /// ``Bluebonnet/Session/webSocket(_:protocols:headers:configuration:interceptor:requestModifier:)``.
    public func webSocketRequest(
        to url: any URLConvertible, protocols: [String] = [],
        configuration: WebSocketRequest.Configuration = WebSocketRequest.Configuration(), headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> WebSocketRequest {
        webSocket(
            url, protocols: protocols, headers: headers, configuration: configuration, interceptor: interceptor,
            requestModifier: requestModifier)
    }
}

nonisolated extension WebSocketRequest {
    /// An event of a WebSocket that the handler of ``streamMessageEvents(on:handler:)`` receives; the cases are in the
    /// order of the events.
    public enum Event<Success: Sendable, Failure: Error>: Sendable {
        /// The server has accepted the WebSocket, and has chosen this subprotocol.
        case connected(protocol: String?)
        /// A message has arrived.
        case receivedMessage(Success)
        /// A message has arrived that cannot be decoded; further messages may follow.
        case serializerFailed(Failure)
        /// The WebSocket was closed; the code and the reason are the server's.
        case disconnected(closeCode: WebSocketCloseCode, reason: String?)
        /// The request has ended; always the last event.
        case completed(DataStreamRequest.Completion)
    }

    /// A closure that receives the events of a WebSocket.
    public typealias Handler<Success: Sendable, Failure: Error> = @Sendable (_ event: Event<Success, Failure>) -> Void

    /// Calls a handler on a queue with each message, and with the other events of the WebSocket.
    ///
    /// This method starts the request if the session's `startRequestsImmediately` is `true` and the request is not
    /// suspended. The handler receives the next event after the call for the current event has returned, so a slow
    /// handler slows down the server. Add only one handler, because each message is delivered once. The WebSocket stays
    /// open until you close or cancel it, or the server closes it.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the handler is called.
    ///   - handler: The handler of the events.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func streamMessageEvents(
        on queue: DispatchQueue, handler: @escaping Handler<WebSocketMessage, Never>
    ) -> Self { handle(on: queue, handler) { .receivedMessage($0) } }
    /// Calls a handler on the main queue with each message and the other events; see
    /// ``streamMessageEvents(on:handler:)``.
    @discardableResult public func streamMessageEvents(
        handler: @escaping @MainActor (_ event: Event<WebSocketMessage, Never>) -> Void
    ) -> Self { streamMessageEvents(on: .main, handler: onMain(handler)) }

    /// Calls a handler on a queue with the decoded value of each message, and with the other events of the WebSocket;
    /// see ``streamMessageEvents(on:handler:)``.
    ///
    /// The session's decoder decodes the values unless you pass another decoder.
    @discardableResult @preconcurrency public func streamDecodableEvents<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, on queue: DispatchQueue, using decoder: (any DataDecoder)? = nil,
        handler: @escaping Handler<Value, AFError>
    ) -> Self {
        handle(on: queue, handler) { [decoder = decoder ?? sessionDecoder] message in
            do {
                return .receivedMessage(try decoder.decode(type, from: message.payload))
            } catch {
                return .serializerFailed(AFError(RequestError(.serialization(.decodingFailed), underlying: error)))
            }
        }
    }
    /// Calls a handler on the main queue with the decoded value of each message; see
    /// ``streamDecodableEvents(of:on:using:handler:)``.
    @discardableResult public func streamDecodableEvents<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, using decoder: (any DataDecoder)? = nil,
        handler: @escaping @MainActor (_ event: Event<Value, AFError>) -> Void
    ) -> Self { streamDecodableEvents(of: type, on: .main, using: decoder, handler: onMain(handler)) }

    /// Sends a message after all earlier messages, and calls a handler when the message has been passed to the
    /// connection.
    ///
    /// If you send messages before the WebSocket is open, they wait in memory until it opens.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - queue: The queue on which the handler is called; the main queue by default.
    ///   - completionHandler: The handler, which is called once; none by default.
    @preconcurrency public func send(
        _ message: WebSocketMessage, queue: DispatchQueue = .main,
        completionHandler: @escaping @Sendable (_ result: Result<Void, AFError>) -> Void = { _ in }
    ) {
        inOrder { task in
            do throws(RequestError) {
                try await task.send(message)
                queue.async { completionHandler(.success(())) }
            } catch {
                queue.async { completionHandler(.failure(AFError(error))) }
            }
        }
    }

    /// Closes the WebSocket when all earlier messages were sent; `cancel()` ends it at once.
    ///
    /// If a close frame cannot contain the code or the reason, the request is cancelled.
    ///
    /// - Parameters:
    ///   - closeCode: The close code; ``Bluebonnet/WebSocketCloseCode/normalClosure`` by default.
    ///   - reason: The reason, of at most 123 bytes in UTF-8; empty by default.
    public func close(sending closeCode: WebSocketCloseCode = .normalClosure, reason: String = "") {
        inOrder { task in if (try? await task.close(code: closeCode, reason: reason)) == nil { self.cancel() } }
    }

    /// The last action of each request, with its number.
    private static let actions = Locked<[RequestID: (number: Int, task: Task<Void, Never>)]>([:])

    /// Performs an action after all earlier actions of this request.
    private func inOrder(_ action: @escaping @Sendable (WebSocketTask) async -> Void) {
        let socket = webSocketTask(automaticallyClosing: false)
        Self.actions.withLock { [id] actions in
            let earlier = actions[id]
            let number = (earlier?.number ?? 0) + 1
            let task = Task {
                await earlier?.task.value
                await action(socket)
                Self.actions.withLock { if $0[id]?.number == number { $0[id] = nil } }
            }
            actions[id] = (number, task)
        }
    }

    /// Passes each event to the handler after the handler's previous call has returned.
    private func handle<Success: Sendable, Failure: Error>(
        on queue: DispatchQueue, _ handler: @escaping Handler<Success, Failure>,
        _ makeEvent: @escaping @Sendable (WebSocketMessage) -> Event<Success, Failure>
    ) -> Self {
        let call = { @Sendable (event: Event<Success, Failure>) in
            await CompletionWaiter<Void>.wait(fallback: ()) { returned in queue.async { returned(handler(event)) } }
        }
        let task = webSocketTask(automaticallyClosing: false)
        // The task starts before this method returns, so that the request starts.
        Task.immediate {
            do throws(RequestError) {
                _ = try await task.response
                await call(.connected(protocol: task.negotiatedProtocol))
                for try await message in task.messages { await call(makeEvent(message)) }
            } catch {
                // The completion has the error.
            }
            if let code = task.closeCode, response?.statusCode == 101 {
                await call(.disconnected(closeCode: code, reason: task.closeReason))
            }
            await call(.completed(.init(request: request, response: response, metrics: metrics, error: error)))
        }
        return self
    }
}
