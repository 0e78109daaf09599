import CSystem
import Glibc

/// What a call that moves bytes came to.
enum ChannelOutcome {
    case done(Int)
    /// Nothing can be done before the socket is readable, or before it is writable.
    case wantsRead
    case wantsWrite
    /// The client has sent everything.
    case ended
    case failed
}

/// A way on which bytes go to a client: a socket, or TLS on one.
///
/// Confined to the connection's thread.
protocol ByteChannel: AnyObject {
    var descriptor: Int32 { get }
    func read(into buffer: inout [UInt8]) -> ChannelOutcome
    func write(_ bytes: ArraySlice<UInt8>) -> ChannelOutcome
    /// Tells the peer that nothing follows, where the protocol has a word for it.
    func end()
}

extension ByteChannel {
    func end() {}
}

/// A socket of the peer; the only file here that makes system calls on them.
// Safety: every pointer is used within the closure that provides it, with the length of the memory behind it.
final class PeerSocket: ByteChannel {
    let descriptor: Int32

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// A socket that listens on a free port of 127.0.0.1.
    static func listening() -> PeerSocket {
        let descriptor = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        precondition(descriptor >= 0, "no socket: \(bb_errno())")
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        precondition(code == 0 && listen(descriptor, 128) == 0, "cannot listen: \(bb_errno())")
        return PeerSocket(descriptor: descriptor)
    }

    var port: Int { Int(bb_local_port(descriptor)) }

    func accept() -> PeerSocket? {
        let accepted = Glibc.accept(descriptor, nil, nil)
        guard accepted >= 0 else { return nil }
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        _ = fcntl(accepted, F_SETFL, O_NONBLOCK)
        var on: Int32 = 1
        _ = unsafe setsockopt(accepted, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        return PeerSocket(descriptor: accepted)
    }

    func read(into buffer: inout [UInt8]) -> ChannelOutcome {
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
        guard count < 0 else { return count == 0 ? .ended : .done(count) }
        return bb_errno() == EAGAIN || bb_errno() == EINTR ? .wantsRead : .failed
    }

    func write(_ bytes: ArraySlice<UInt8>) -> ChannelOutcome {
        let count = unsafe bytes.withUnsafeBytes {
            unsafe send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count < 0 else { return .done(count) }
        return bb_errno() == EAGAIN || bb_errno() == EINTR ? .wantsWrite : .failed
    }

    // MARK: Of any descriptor

    static func halfClose(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    static func shutDown(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

    static func resetOnClose(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Has the calling thread get an error in place of SIGPIPE.
    static func blockBrokenPipes() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    static func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

    /// Waits until a socket can be read, or written where that is wanted; returns the indices of those that can.
    static func wait(for sockets: [(descriptor: Int32, writes: Bool)], milliseconds: Int) -> [Int] {
        var polled = sockets.map {
            pollfd(fd: $0.descriptor, events: Int16(POLLIN | ($0.writes ? POLLOUT : 0)), revents: 0)
        }
        let count = unsafe poll(&polled, nfds_t(polled.count), Int32(milliseconds))
        return count > 0 ? polled.indices.filter { polled[$0].revents != 0 } : []
    }
}

/// Milliseconds of a clock that never goes back.
func now() -> Int { Int(bb_monotonic_now() / 1_000_000) }
