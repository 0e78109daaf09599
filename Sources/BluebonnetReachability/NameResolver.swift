import Bluebonnet
import BluebonnetLibc
import CSystem

/// The result of a name lookup.
enum NameLookupResult: Hashable, Sendable {
    case addresses([IPAddress])
    /// The name does not exist, or it has no address.
    case noSuchName
    /// No name server responded.
    case noAnswer
}

/// Looks up names with the system's resolver, on at most four threads; a thread ends when no lookup is waiting.
///
/// A lookup cannot be interrupted, and can take half a minute. With several threads, a slow lookup does not delay all
/// other lookups.
// Safety: the system's list is read before it is freed, and each address is read only up to its stated length.
final class NameResolver: Sendable {
    static let shared = NameResolver()

    private struct HostLookup {
        let name: String
        let completion: @Sendable (NameLookupResult) -> Void
    }

    private struct State {
        var waiting: [HostLookup] = []
        var threads = 0
    }

    private static let maximumThreads = 4

    private let state = Locked(State())

    /// Looks up a name, and calls the closure once with the result, on any thread.
    func lookUp(_ name: String, _ completion: @escaping @Sendable (NameLookupResult) -> Void) {
        let needsThread = state.withLock { state in
            state.waiting.append(HostLookup(name: name, completion: completion))
            guard state.threads < Self.maximumThreads else { return false }
            state.threads += 1
            return true
        }
        // The thread of an event loop without attached clients ends when the loop has no more work.
        if needsThread { EventLoop(name: "bb-names").submit { self.work() } }
    }

    private func work() {
        while true {
            let lookup = state.withLock { state -> HostLookup? in
                guard !state.waiting.isEmpty else {
                    state.threads -= 1
                    return nil
                }
                return state.waiting.removeFirst()
            }
            guard let lookup else { return }
            lookup.completion(Self.answer(to: lookup.name))
        }
    }

    private static func answer(to name: String) -> NameLookupResult {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(name, nil, &hints, &list)
        guard code == 0 else { return code == EAI_NONAME || code == bb_eai_nodata ? .noSuchName : .noAnswer }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [IPAddress] = []
        var entry = unsafe list
        while let info = unsafe entry?.pointee {
            if let address = unsafe address(info), !addresses.contains(address) { addresses.append(address) }
            unsafe entry = info.ai_next
        }
        return addresses.isEmpty ? .noSuchName : .addresses(addresses)
    }

    private static func address(_ info: addrinfo) -> IPAddress? {
        guard let start = unsafe info.ai_addr else { return nil }
        let bytes = unsafe UnsafeRawBufferPointer(start: start, count: Int(info.ai_addrlen))
        // The address follows the family and the port. For IPv6, the flow label precedes it and the scope id follows
        // it.
        switch unsafe info.ai_family {
        case AF_INET where bytes.count >= 8:
            return unsafe IPAddress(bytes: [UInt8](bytes[4..<8]))
        case AF_INET6 where bytes.count >= 28:
            let zone: UInt32? = unsafe [UInt8](bytes[24..<28])[...].number(at: 0)
            return unsafe IPAddress(bytes: [UInt8](bytes[8..<24]), zone: zone == 0 ? nil : zone.map { "\($0)" })
        default: return nil
        }
    }
}
