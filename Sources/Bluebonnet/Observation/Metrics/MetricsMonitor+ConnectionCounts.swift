extension MetricsMonitor {
    /// Sets the gauges for connections and waiting requests.
    ///
    /// A monitor receives no event when a connection opens or becomes idle. Call this method before each collection:
    ///
    /// ```swift
    /// metrics.record(await session.connectionCounts())
    /// print(metrics.prometheusText)
    /// ```
    ///
    /// The gauges are ``Instrument/openConnections`` and ``Instrument/waitingRequests``. If the monitor serves several
    /// sessions, add up their counts first.
    ///
    /// - Parameter counts: The current counts.
    public func record(_ counts: ConnectionCounts) {
        let state = "http.connection.state"
        set(.openConnections, [Attribute(name: state, value: "active")], counts.open - counts.idle)
        set(.openConnections, [Attribute(name: state, value: "idle")], counts.idle)
        set(.waitingRequests, [], counts.waiting)
    }
}
