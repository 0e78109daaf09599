/// The connect limit of transfers that may have to wait for a free connection.
///
/// Libcurl 8.8.0 and later start the time of connecting before a transfer waits for a connection. So they end a request
/// that has waited longer than the connect limit, although a connection is free at last. With these versions, libcurl
/// gets no connect limit if the session limits its connections, and ``TransferLimits`` checks the limit alone.
///
/// Earlier versions start the time of connecting after the wait. They keep their own limit, which also divides the time
/// among the addresses of a host.
enum PendingConnectTime {
    private static let isMiscounted = Libcurl.version >= 0x08_08_00

    /// Whether libcurl checks the connect limit of a transfer.
    static func isLeftToLibcurl(mayWait: Bool) -> Bool { !(isMiscounted && mayWait) }
}
