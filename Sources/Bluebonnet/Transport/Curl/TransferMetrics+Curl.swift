import CCurl

extension TransferMetrics {
    /// The measurements of a transfer that ended while it waited for other transfers; `nil` if it did not wait.
    init?(ofQueued transfer: Transfer, now: Int64) {
        guard let time = transfer.limits.queueTime(at: now) else { return nil }
        self.init()
        queue = time
    }

    /// Reads libcurl's measurements of a transfer that has ended.
    init(of transfer: Transfer, _ easy: EasyHandle, now: Int64) {
        self.init()
        if let waited = transfer.limits.waitedNanoseconds { queue = .nanoseconds(waited) }
        guard !transfer.isFresh else { return }
        func duration(_ info: CURLINFO) -> Duration? { easy.duration(info).map { $0 + transfer.limits.uncounted } }
        isReusedConnection = transfer.resends.hasBegun && easy.long(CURLINFO_NUM_CONNECTS) == 0
        if !isReusedConnection {
            nameLookup = duration(CURLINFO_NAMELOOKUP_TIME_T)
            connect = duration(CURLINFO_CONNECT_TIME_T)
            tlsHandshake = duration(CURLINFO_APPCONNECT_TIME_T)
        }
        requestStart = transfer.wasSent ? duration(CURLINFO_PRETRANSFER_TIME_T) : nil
        // Libcurl's own value is the time of its last step, which can be long before the transfer was cancelled.
        total = max(duration(CURLINFO_TOTAL_TIME_T) ?? .zero, .nanoseconds(now - transfer.limits.startedAt))
        // Libcurl's own value (STARTTRANSFER) is the time of the first sent byte if there is a request body.
        firstByte = transfer.responseBuffer.firstByte.map { min(.nanoseconds($0 - transfer.limits.startedAt), total) }
        let (uploaded, downloaded) = (easy.offset(CURLINFO_SIZE_UPLOAD_T), easy.offset(CURLINFO_SIZE_DOWNLOAD_T))
        bytesSent = Int64(easy.long(CURLINFO_REQUEST_SIZE)) + uploaded
        bytesReceived = Int64(easy.long(CURLINFO_HEADER_SIZE)) + downloaded
        (requestBodyBytes, responseBodyBytes) = (uploaded, downloaded)
        if let upgrade = transfer.upgrade {
            (bytesSent, bytesReceived) = (upgrade.sentBytes, upgrade.receivedBytes)
            (requestBodyBytes, responseBodyBytes) = (
                Int64(transfer.upload.offset), transfer.responseBuffer.state.receivedBytes
            )
        }
        if let received = transfer.serverChallenges.received { challenges = received }
        httpVersion = transfer.responseBuffer.head?.httpVersion
        (remoteAddress, localAddress) = (transfer.addresses ?? ConnectionAddresses()).read(from: easy)
    }
}

extension EasyHandle {
    /// A duration that libcurl measured; `nil` for a step that did not happen, which libcurl reports as 0.
    fileprivate func duration(_ info: CURLINFO) -> Duration? {
        let microseconds = offset(info)
        return microseconds > 0 ? .microseconds(microseconds) : nil
    }

    fileprivate var remoteAddress: SocketAddress? { address(CURLINFO_PRIMARY_IP, CURLINFO_PRIMARY_PORT) }
    fileprivate var localAddress: SocketAddress? { address(CURLINFO_LOCAL_IP, CURLINFO_LOCAL_PORT) }

    private func address(_ host: CURLINFO, _ port: CURLINFO) -> SocketAddress? {
        guard let host = string(host), !host.isEmpty else { return nil }
        return SocketAddress(host: host, port: long(port))
    }
}

/// The addresses of both ends of a connection.
///
/// The first transfer that ends on the connection reads them. Reading them for each transfer takes 1,000 instructions.
final class ConnectionAddresses {
    private var ends: (remote: SocketAddress?, local: SocketAddress?)?

    fileprivate func read(from easy: EasyHandle) -> (remote: SocketAddress?, local: SocketAddress?) {
        if let ends { return ends }
        let read = (remote: easy.remoteAddress, local: easy.localAddress)
        // A transfer that did not reach the server has no addresses.
        if read.remote != nil { ends = read }
        return read
    }
}
