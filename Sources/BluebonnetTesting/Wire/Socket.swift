import BluebonnetLibc
import CSystem
import FoundationEssentials

/// The system calls of a TCP socket on the loopback interface.
///
/// Only this file of the module uses C pointers.
///
/// A socket does not own its descriptor. The owner of the socket closes the descriptor once. All sockets are
/// non-blocking, and child processes do not inherit them. A write to a disconnected peer returns an error and raises no
/// signal.
// Safety: every pointer below is used within the closure that provides it, with the length of its memory.
package struct Socket: Hashable, Sendable {
    package let descriptor: Int32

    /// The result of a call that transfers bytes or accepts a connection.
    enum Outcome {
        /// The number of bytes, or the descriptor of the connection.
        case done(Int)
        /// The call would block; wait for readiness.
        case wouldBlock
        /// The peer has closed its sending side; only a read returns this case.
        case ended
        case failed(Int32)
    }

    // MARK: Creating sockets

    /// Creates a socket bound to a free port of 127.0.0.1.
    package static func bound() throws(LocalServer.Failure) -> Socket {
        let made = try unconnected()
        guard unsafe withLoopback(port: 0, { unsafe bind(made.descriptor, $0, $1) }) == 0 else {
            let error = bb_errno()
            made.close()
            throw .system(call: "bind", code: error)
        }
        return made
    }

    /// Starts to connect to a port of 127.0.0.1, without waiting.
    package static func connecting(to port: UInt16) throws(LocalServer.Failure) -> Socket {
        let made = try unconnected()
        made.connect(to: port)
        return made
    }

    /// Starts to connect to a port of 127.0.0.1, without waiting.
    func connect(to port: UInt16) {
        // The result is ignored, because a later read or write reports a failed connection.
        _ = unsafe Self.withLoopback(port: port) { unsafe BluebonnetLibc.connect(descriptor, $0, $1) }
    }

    /// Creates a socket that is neither bound nor connected.
    static func unconnected() throws(LocalServer.Failure) -> Socket {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_INET, type, 0)
        guard descriptor >= 0 else { throw .system(call: "socket", code: bb_errno()) }
        return Socket(descriptor: descriptor)
    }

    /// Calls a closure with the address of a port of 127.0.0.1.
    private static func withLoopback(port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// Starts to listen for connections; the backlog is the system's maximum by default.
    package func listen(backlog: Int32 = SOMAXCONN) throws(LocalServer.Failure) {
        guard BluebonnetLibc.listen(descriptor, backlog) == 0 else { throw .system(call: "listen", code: bb_errno()) }
    }

    /// Sets the sizes of the system's buffers; accepted connections inherit the sizes of their listener.
    func setBuffers(receive: Int?, send: Int?) {
        for (name, size) in [(SO_RCVBUF, receive), (SO_SNDBUF, send)] {
            guard let size else { continue }
            var bytes = Int32(clamping: size)
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, name, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    /// The port to which the socket is bound; 0 if it is not bound.
    package var port: UInt16 { UInt16(bb_local_port(descriptor)) }

    // MARK: Using sockets

    /// Accepts the next waiting connection.
    func accept() -> Outcome {
        let outcome = repeating(alsoAfter: ECONNABORTED) { Int(bb_accept(descriptor)) }
        if case .done(let accepted) = outcome { Socket(descriptor: Int32(accepted)).sendWithoutDelay() }
        return outcome
    }

    private func sendWithoutDelay() {
        var on: Int32 = 1
        _ = unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Reads available bytes to a buffer, up to the size of the buffer, and returns their number.
    func read(into buffer: inout [UInt8]) -> Outcome {
        let outcome = repeating {
            unsafe buffer.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
        }
        if case .done(0) = outcome { return .ended }
        return outcome
    }

    /// Writes the bytes after an offset, as many as the socket accepts without blocking.
    func write(_ bytes: some ContiguousBytes, from offset: Int, moreFollows: Bool) -> Outcome {
        let flags = Int32(MSG_NOSIGNAL) | (moreFollows ? Int32(MSG_MORE) : 0)
        return repeating {
            unsafe bytes.withUnsafeBytes { bytes in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset...])
                return unsafe send(descriptor, rest.baseAddress, rest.count, flags)
            }
        }
    }

    /// Makes a system call, and repeats it if a signal interrupted it or after another error.
    private func repeating(alsoAfter other: Int32 = EINTR, _ call: () -> Int) -> Outcome {
        while true {
            let count = call()
            guard count < 0 else { return .done(count) }
            switch bb_errno() {
            case EINTR, other: continue
            case EAGAIN: return .wouldBlock
            case let code: return .failed(code)
            }
        }
    }

    /// Closes the sending side.
    func shutDownWriting() {
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Changes ``close()`` to reset the connection.
    func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    package func close() {
        _ = BluebonnetLibc.close(descriptor)
    }

    /// Returns the system's error text for an error code.
    static func text(for code: Int32) -> String {
        unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }
}
