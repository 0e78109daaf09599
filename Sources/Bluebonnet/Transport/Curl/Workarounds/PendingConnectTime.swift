/// The connect limit of transfers that may have to wait for a free connection.
///
/// Libcurl 8.8.0 and later start the time of connecting before a transfer waits for a connection. They therefore end a
/// request that has waited longer than the connect limit, even if a connection has become free. If the session limits
/// its connections, these versions receive no connect limit, and only ``TransferLimits`` checks the limit.
///
/// Earlier versions start the time of connecting after the wait. They keep their own limit, which also divides the time
/// among the addresses of a host.
enum PendingConnectTime {
    private static let isMiscounted = Libcurl.version >= 0x08_08_00

    /// Whether libcurl checks the connect limit of a transfer.
    static func isLeftToLibcurl(mayWait: Bool) -> Bool { !(isMiscounted && mayWait) }
}
