import CSystem
import Glibc

/// A socket to the kernel's routing.
// Safety: the kernel writes into the buffer within the call that it is given to, and no more than its length.
final class NetlinkSocket: Sendable {
    /// What came of receiving.
    enum Received: Equatable {
        case datagram([UInt8])
        /// Nothing is there yet.
        case nothing
        /// Messages were lost: they came faster than they were read, or one was longer than can be.
        case lost
        /// The socket is of no use any longer.
        case failed(Int32)
    }

    let descriptor: Int32

    /// Takes over a socket, or minus an error in its place.
    init?(owning descriptor: Int32) {
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// A socket for questions, which are answered at once; `nil` if the system does not give one.
    static func forQuestions() -> NetlinkSocket? { NetlinkSocket(owning: bb_netlink_open(0)) }

    /// A socket that hears of all changes, and never blocks; `nil` if the system does not give one.
    static func forChanges() -> NetlinkSocket? { NetlinkSocket(owning: bb_netlink_open(bb_netlink_changes)) }

    /// The number of a link, 0 if there is none of that name.
    static func number(ofLink name: String) -> UInt32 { unsafe if_nametoindex(name) }

    /// Sends a datagram; returns whether that went well.
    func send(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { unsafe bb_netlink_send(descriptor, $0.baseAddress, $0.count) == 0 }
    }

    /// Receives a datagram; what did not come from the kernel is empty.
    func receive() -> Received {
        // The kernel's own limit for what it sends unasked is 32 KiB, and for an answer to our questions less.
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe bb_netlink_receive(descriptor, $0.baseAddress, $0.count)
        }
        switch count {
        case 0...bytes.count: return .datagram(Array(bytes[..<count]))
        case bytes.count...: return .lost
        case -Int(EAGAIN): return .nothing
        case -Int(ENOBUFS): return .lost
        default: return .failed(Int32(clamping: -count))
        }
    }
}
