import CSystem
import Glibc

/// Keeps how sockets were left that libcurl closes: what is unread in them, and whether the server had closed them.
///
/// A server that refuses a body answers and closes the connection, which the rest of the body then resets. Libcurl gives up
/// at the first byte that it cannot send, although the answer may have come: Linux keeps it to be read after the reset.
///
/// A connection of HTTP/2 is closed at this end when the server breaks the rules, and libcurl calls that an empty reply.
// Safety: the system writes into buffers that it is given, within the call, and no more than they hold.
struct LastWords {
    /// More is no answer to a refused upload.
    private static let limit = 64 * 1024

    private var words: [(localPort: Int, bytes: [UInt8])] = []
    /// The local ports of those that the server had not closed.
    private var openPorts: [Int] = []

    /// Reads what is there, before the socket is closed.
    mutating func closing(_ socket: Int32) {
        // Most connections leave nothing, and that is a look without a buffer.
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
        words.append((port, bytes))
    }

    /// The words of a connection.
    func words(ofLocalPort port: Int) -> [UInt8]? { words.first { $0.localPort == port }?.bytes }

    /// Whether a connection was closed here, and not by the server.
    func wasOpen(localPort port: Int) -> Bool { openPorts.contains(port) }

    mutating func forget() {
        if !words.isEmpty { words.removeAll() }
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
