import BluebonnetLibc
import CSystem

/// Records the unread bytes of sockets that libcurl closes, and whether the server had closed them.
///
/// A server that refuses a body responds and closes the connection, and the rest of the body then resets the
/// connection. Libcurl fails at the first byte that it cannot send, although the response may have arrived. On Linux,
/// the response can still be read after the reset. All tested versions do this, 7.88 to 8.23.
///
/// If the server violates the HTTP/2 protocol, libcurl itself closes the connection and reports an empty reply.
// Safety: the system writes into the buffers only within the call, and no more than their size.
struct UnreadResponses {
    /// The maximum number of bytes to read; a response to a refused upload is smaller.
    private static let limit = 64 * 1024

    private var responses: [(localPort: Int, bytes: [UInt8])] = []
    /// The local ports of the connections that the server had not closed.
    private var openPorts: [Int] = []

    /// Reads the unread bytes of a socket before it is closed.
    mutating func closing(_ socket: Int32) {
        // Most sockets have no unread bytes, which this check determines without a buffer.
        guard recv(socket, nil, 0, Int32(MSG_DONTWAIT | MSG_PEEK)) >= 0 else { return noteOpen(socket) }
        var isOpen = false
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Self.limit) { buffer, count in
            while count < buffer.count {
                let free = unsafe UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                let received = unsafe recv(socket, free.baseAddress, free.count, Int32(MSG_DONTWAIT))
                guard received > 0 else {
                    isOpen = received < 0
                    break
                }
                count += received
            }
        }
        if isOpen { noteOpen(socket) }
        guard !bytes.isEmpty, let port = Self.localPort(of: socket) else { return }
        responses.append((port, bytes))
    }

    /// Returns the unread bytes of a connection.
    func data(ofLocalPort port: Int) -> [UInt8]? { responses.first { $0.localPort == port }?.bytes }

    /// Whether a connection was closed by libcurl and not by the server.
    func wasOpen(localPort port: Int) -> Bool { openPorts.contains(port) }

    mutating func forget() {
        if !responses.isEmpty { responses.removeAll() }
        if !openPorts.isEmpty { openPorts.removeAll() }
    }

    private mutating func noteOpen(_ socket: Int32) {
        if errno == EAGAIN, let port = Self.localPort(of: socket) { openPorts.append(port) }
    }

    private static func localPort(of socket: Int32) -> Int? {
        let port = bb_local_port(socket)
        return port > 0 ? Int(port) : nil
    }
}

// Safety: the bytes belong to an array and are used while it is borrowed.
extension ResponseBuffer {
    /// Parses the unread response after a failure to send; returns whether there was a response.
    mutating func receivedUnreadResponse(_ answer: [UInt8], now: Int64) -> Bool {
        guard head == nil, answer.starts(with: "HTTP/1.".utf8) else { return false }
        var start = 0
        // There may be informational heads before the final head.
        while head == nil,
            case .head(let count, isEnd: true) = ResponseFraming().part(of: answer.span.extracting(start...))
        {
            let (progress, _) = unsafe answer.withUnsafeBytes { bytes in
                unsafe receivedHead(UnsafeRawBufferPointer(rebasing: bytes[start..<start + count]), now: now)
            }
            if case .refused = progress { return false }
            start += count
        }
        guard head != nil else { return false }
        keepUnreadBody(answer[start...])
        return true
    }

    /// The error for an unread response; `nil` if the response has a length and its whole body was received.
    var unreadResponseError: RequestError? {
        mutating get {
            if let expectedBytes, expectedBytes == body.count { return nil }
            return RequestError(
                .invalidResponse(.truncated), detail: "the connection was reset while the body was sent")
        }
    }
}

extension Transfer {
    /// Whether the unread bytes may be used as a response; with TLS, an attacker on the network could have inserted
    /// them.
    func mayUseUnreadResponse(from version: IdleConnections.Version?) -> Bool {
        version == .http1 || (version == nil && !isSecure && !isProxied)
    }
}
