import FoundationEssentials

/// A request that opens a WebSocket (RFC 6455).
///
/// A ``Session`` creates WebSocket requests. ``webSocketTask(automaticallyClosing:)`` returns a ``WebSocketTask``, with
/// which you send and receive messages:
///
/// ```swift
/// let task = session.webSocket("wss://example.com/chat").webSocketTask()
/// try await task.send("hello")
/// for try await message in task.messages { print(message) }
/// ```
///
/// The handshake is a request of the session like any other: adapters, interceptors, cookies, redirect handlers, trust
/// evaluators, proxies, monitors and retriers apply. A retrier can repeat the handshake, but not an open connection.
/// Bluebonnet answers an authentication challenge only with the Basic scheme. If the server and the credential have
/// only other schemes in common, the request fails with `.authentication(.unsupportedScheme)`. The handshake always
/// uses HTTP/1.1 on a connection of its own. WebSockets over HTTP/2 (RFC 8441) are not supported.
///
/// ``Request/suspend()`` stops sending and receiving. ``Request/cancel()`` ends the connection without the closing
/// handshake. To perform the closing handshake, call ``WebSocketTask/close(code:reason:)``. The request finishes when
/// the connection has ended. ``Session/shutdown()`` closes WebSockets with ``WebSocketCloseCode/goingAway``.
///
/// All members are `nonisolated`, so you can use them from any thread. They return immediately.
public actor WebSocketRequest: Request {
    /// An opaque reference to the internal state of this request.
    public nonisolated let reference: RequestReference

    nonisolated let connection: WebSocketConnection

    init(
        _ convertible: any HTTPRequestConvertible, protocols: [String], configuration: Configuration,
        context: SessionContext, interceptor: (any RequestInterceptor)?
    ) {
        let connection = WebSocketConnection(configuration, protocols, context)
        let handshake = ModifiedRequest(convertible: convertible) { request in
            request.url = request.url.withWebScheme
            for field in try connection.handshakeFields() { request.headers.update(field) }
        }
        self.connection = connection
        let core = RequestCore(
            convertible: handshake, context: context, sink: connection, interceptor: interceptor)
        reference = RequestReference(core: core)
        core.events?.adopt(self)
    }

    /// Returns a task that sends and receives messages.
    ///
    /// This method does not start the request. The request starts when you await the task's
    /// ``WebSocketTask/response``, send a message or a ping, or when a loop over the messages begins.
    ///
    /// - Parameter automaticallyClosing: Whether the WebSocket is closed when a loop over the messages is left, and
    ///   when the task and its sequences are released. The default is `true`.
    /// - Returns: A task for the messages.
    public nonisolated func webSocketTask(automaticallyClosing: Bool = true) -> WebSocketTask {
        WebSocketTask(request: self, automaticallyClosing: automaticallyClosing)
    }

    /// The settings of a WebSocket.
    public struct Configuration: Hashable, Sendable {
        /// The interval between keep-alive pings; `nil`, the default, for no keep-alive pings.
        ///
        /// If the pong that answers a ping has not arrived when the next ping is due, and nothing else was received
        /// either, the request fails with `.webSocket(.pingUnanswered)`. While the ping waits behind a message that the
        /// server takes, the request does not fail; to know this, further pings are sent after each 256 KiB. The
        /// request does not fail in this way while your loop reads the messages too slowly, or while the request is
        /// suspended.
        public var pingInterval: Duration?

        /// The limit for a period in which no bytes are sent or received, in either direction; `nil`, the default, for
        /// no limit.
        ///
        /// The session's own limits apply until the WebSocket is open.
        public var idleTimeout: Duration?

        /// The time limit for the closing handshake; 10 seconds by default.
        ///
        /// When the limit is reached, the connection is ended.
        public var closeTimeout: Duration

        /// The maximum size in bytes of a message that ``WebSocketTask/messages`` collects; 16 MiB by default.
        ///
        /// The limit applies to the size after decompression. A larger message closes the WebSocket with
        /// ``WebSocketCloseCode/messageTooBig``, as soon as its size is known. The limit does not apply to
        /// ``WebSocketTask/pieces``.
        public var maximumMessageBytes: Int

        /// Whether compression of messages is offered to the server (RFC 7692); `true` by default.
        public var compressesMessages: Bool

        /// The maximum number of bytes of a message in a frame that is sent; 64 KiB by default.
        ///
        /// A longer message is sent in several frames, between which pings and pongs can be sent (RFC 6455 §5.4). The
        /// bytes are counted before compression. Some servers accept only small frames, others only whole messages: for
        /// these, set a value that no message exceeds. A value below 1 counts as 1.
        public var maximumFrameBytes: Int

        /// Creates settings.
        ///
        /// - Parameters:
        ///   - pingInterval: The interval between keep-alive pings; `nil` by default.
        ///   - idleTimeout: The limit for a period without bytes; `nil` by default.
        ///   - closeTimeout: The limit for the closing handshake; 10 seconds by default.
        ///   - maximumMessageBytes: The maximum size of a received message; 16 MiB by default.
        ///   - compressesMessages: Whether compression is offered; `true` by default.
        ///   - maximumFrameBytes: The maximum number of bytes of a message in a sent frame; 64 KiB by default.
        public init(
            pingInterval: Duration? = nil, idleTimeout: Duration? = nil, closeTimeout: Duration = .seconds(10),
            maximumMessageBytes: Int = 16 << 20, compressesMessages: Bool = true,
            maximumFrameBytes: Int = 64 * 1024
        ) {
            self.pingInterval = pingInterval
            self.idleTimeout = idleTimeout
            self.closeTimeout = closeTimeout
            self.maximumMessageBytes = maximumMessageBytes
            self.compressesMessages = compressesMessages
            self.maximumFrameBytes = maximumFrameBytes
        }
    }
}

extension WebSocketRequest {
    /// The value of `Sec-WebSocket-Accept` for a key, for servers in tests.
    package static func accept(for key: String) -> String { WebSocketHandshake.accept(for: key) }
}

extension URL {
    /// The URL with `http` instead of `ws`, and with `https` instead of `wss` (RFC 6455 §3).
    fileprivate var withWebScheme: URL {
        let text = absoluteString
        return switch scheme?.lowercased() {
        case "ws": URL(string: "http" + text.dropFirst(2)) ?? self
        case "wss": URL(string: "https" + text.dropFirst(3)) ?? self
        default: self
        }
    }
}
