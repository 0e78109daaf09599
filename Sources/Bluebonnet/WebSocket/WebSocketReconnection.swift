/// The settings that decide when a ``ReconnectingWebSocket`` connects again.
public struct WebSocketReconnection: Hashable, Sendable {
    /// The time that the socket waits before it connects again; 3 seconds by default, and 24 hours at most.
    ///
    /// The socket extends every wait by a random amount of up to a quarter of the wait, so that the clients of a
    /// restarted server do not all connect at the same time.
    public var reconnectionTime: Duration

    /// The maximum time that the socket waits after several failed attempts to connect; 30 seconds by default.
    ///
    /// The wait doubles with each failed attempt in a row. If the reconnection time is longer than this value, the
    /// socket waits for the reconnection time instead.
    public var maximumReconnectionDelay: Duration

    /// The maximum number of failed attempts to connect in a row; `nil`, the default, for no limit.
    ///
    /// When the limit is reached, the loop throws the error of the last attempt. The socket makes at least one attempt,
    /// even if the value is less than 1.
    public var maximumAttempts: Int?

    /// The close codes of the server after which the socket does not connect again.
    ///
    /// The default is ``refusals`` and ``WebSocketCloseCode/normalClosure``. After `normalClosure`, `goingAway` and
    /// `noStatusReceived`, the loop ends; after other codes of the set, it throws `.webSocket(.closed(…))`.
    public var finalCloseCodes: Set<WebSocketCloseCode>

    /// The close codes of a server that does not accept the behavior of this client: 1002, 1003 and 1007 to 1010.
    public static let refusals: Set<WebSocketCloseCode> = [
        .protocolError, .unsupportedData, .invalidPayload, .policyViolation, .messageTooBig, .missingExtension,
    ]

    /// Creates settings.
    ///
    /// - Parameters:
    ///   - reconnectionTime: The time before a new connection; 3 seconds by default.
    ///   - maximumReconnectionDelay: The maximum time after several failed attempts; 30 seconds by default.
    ///   - maximumAttempts: The maximum number of failed attempts in a row; `nil`, the default, for no limit.
    ///   - finalCloseCodes: The close codes of the server after which the socket does not connect again;
    ///     ``refusals`` and `normalClosure` by default.
    public init(
        reconnectionTime: Duration = .seconds(3), maximumReconnectionDelay: Duration = .seconds(30),
        maximumAttempts: Int? = nil, finalCloseCodes: Set<WebSocketCloseCode> = refusals.union([.normalClosure])
    ) {
        self.reconnectionTime = reconnectionTime
        self.maximumReconnectionDelay = maximumReconnectionDelay
        self.maximumAttempts = maximumAttempts
        self.finalCloseCodes = finalCloseCodes
    }
}

extension WebSocketReconnection {
    /// The state before the first connection.
    var initialState: ReconnectionState {
        ReconnectionState(
            reconnectionTime: reconnectionTime, maximumDelay: maximumReconnectionDelay,
            maximumAttempts: maximumAttempts)
    }

    /// Whether no connection follows one that has ended in a phase with this code of the server.
    func isFinal(_ code: WebSocketCloseCode?, in phase: ReconnectionState.Phase) -> Bool {
        phase == .open && code.map(finalCloseCodes.contains) == true
    }
}
