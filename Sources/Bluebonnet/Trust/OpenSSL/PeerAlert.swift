/// An alert with which a peer has ended TLS (RFC 8446 §6.2).
struct PeerAlert: Equatable {
    let number: UInt8

    /// The name of the alert, or its number if it has no name.
    var name: String { Self.names[number] ?? "\(number)" }

    var reason: RequestError.TrustReason {
        switch number {
        case 116: .clientCertificateRequired
        case 42...46, 48, 49: .clientCertificateRefused
        default: .handshake
        }
    }

    /// The kind of the error of a request whose connection has ended with the alert.
    ///
    /// With TLS 1.3, a server refuses the client's handshake only after the request was sent. Alerts about records, and
    /// all alerts within a response, do not concern the handshake.
    func kind(wasSent: Bool, hasHead: Bool) -> RequestError.Kind {
        let concernsRecords = [10, 20, 21, 22, 50, 80].contains(number)
        return hasHead || wasSent && concernsRecords ? .connection(.lost) : .trust(reason)
    }

    /// Creates the alert; `nil` for alerts that are not errors: `close_notify`, `user_canceled` and
    /// `no_renegotiation`.
    init?(_ number: UInt8) {
        guard number != 0, number != 90, number != 100 else { return nil }
        self.number = number
    }

    /// The meaning of an alert whose name begins a text.
    static func reason(named text: Substring) -> RequestError.TrustReason {
        names.lazy.filter { text.hasPrefix($0.value) }.compactMap { PeerAlert($0.key)?.reason }
            .first { $0 != .handshake } ?? .handshake
    }

    private static let names: [UInt8: String] = [
        10: "unexpected message", 20: "bad record mac", 21: "decryption failed", 22: "record overflow",
        30: "decompression failure", 40: "handshake failure", 41: "no certificate", 42: "bad certificate",
        43: "unsupported certificate", 44: "certificate revoked", 45: "certificate expired",
        46: "certificate unknown", 47: "illegal parameter", 48: "unknown ca", 49: "access denied", 50: "decode error",
        51: "decrypt error", 60: "export restriction", 70: "protocol version", 71: "insufficient security",
        80: "internal error", 86: "inappropriate fallback", 109: "missing extension", 110: "unsupported extension",
        111: "certificate unobtainable", 112: "unrecognized name", 113: "bad certificate status response",
        114: "bad certificate hash value", 115: "unknown psk identity", 116: "certificate required",
        120: "no application protocol", 121: "ech required",
    ]
}

/// What peers have done recently on connections for origins, which libcurl often does not report.
///
/// With TLS 1.3, a server refuses a client's certificate only after the client's handshake. If libcurl cannot send the
/// request any more, it reports that instead of the alert, although OpenSSL has read the alert.
///
/// This is a value type without I/O and without a clock.
struct PeerActs<Act> {
    private var entries: [(origin: Origin, act: Act, time: Int64)] = []

    /// The time for which an act explains failures, in nanoseconds.
    private static var lifetime: Int64 { 1_000_000_000 }
    private static var limit: Int { 64 }

    mutating func received(_ act: Act, from origin: Origin, at now: Int64) {
        entries.removeAll { now - $0.time > Self.lifetime }
        if entries.count == Self.limit { entries.removeFirst() }
        entries.append((origin, act, now))
    }

    /// The last act on a connection for an origin.
    func last(from origin: Origin, at now: Int64) -> Act? {
        entries.last { $0.origin == origin && now - $0.time <= Self.lifetime }?.act
    }
}
