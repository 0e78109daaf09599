import COpenSSL

/// Observes TLS on one connection, for OpenSSL's callback: alerts, and messages without end.
///
/// OpenSSL reads tickets and new keys (RFC 8446 §4.6) until it finds bytes for libcurl. While a server sends them, the
/// call does not return, and no other transfer on the loop makes progress.
///
/// OpenSSL stores an instance in the connection's context for the context's lifetime. The instance never leaves the
/// loop's thread.
// Safety: OpenSSL's pointers are used within the callback that provides them.
final class TLSObserver {
    /// The number of steps between two questions; a message takes three, or five if it asks for new keys.
    static let stepsOfFlood = 2048

    private let alertReceived: (PeerAlert) -> Void
    private let isFlooded: () -> Bool
    private var steps = 0

    /// Creates an observer.
    ///
    /// - Parameters:
    ///   - alertReceived: A closure that is called for each alert of the peer.
    ///   - isFlooded: A closure that is called from time to time while there are many messages; returns whether the
    ///     connection is ended.
    init(alertReceived: @escaping (PeerAlert) -> Void, isFlooded: @escaping () -> Bool) {
        self.alertReceived = alertReceived
        self.isFlooded = isFlooded
    }

    /// The index under which OpenSSL's contexts store observers.
    private static let index = unsafe bb_ssl_context_index { context in
        guard let context = unsafe context else { return }
        unsafe Unmanaged<TLSObserver>.fromOpaque(context).release()
    }

    /// Makes OpenSSL report what happens on the connections of a context.
    func attach(to context: OpaquePointer) {
        let kept = unsafe Unmanaged.passRetained(self)
        guard unsafe SSL_CTX_set_ex_data(context, Self.index, kept.toOpaque()) == 1 else {
            return unsafe kept.release()
        }
        unsafe SSL_CTX_set_info_callback(context) { ssl, kind, value in
            guard let ssl = unsafe ssl, let kept = unsafe bb_ssl_context_argument(ssl, TLSObserver.index) else {
                return
            }
            unsafe Unmanaged<TLSObserver>.fromOpaque(kept)._withUnsafeGuaranteedRef {
                unsafe $0.notice(kind, value, on: ssl)
            }
        }
    }

    private func notice(_ kind: Int32, _ value: Int32, on ssl: OpaquePointer) {
        if kind == SSL_CB_CONNECT_LOOP {
            steps += 1
            guard steps.isMultiple(of: Self.stepsOfFlood), isFlooded() else { return }
            // OpenSSL then reads the end of the connection, without a closing alert. With
            // `SSL_RECEIVED_SHUTDOWN`, a truncated body would be complete, and libcurl might wait without end.
            guard let nothing = unsafe BIO_new(BIO_s_null()) else { return }
            unsafe SSL_set0_rbio(ssl, nothing)
        } else if kind == SSL_CB_READ_ALERT, let alert = PeerAlert(UInt8(truncatingIfNeeded: value)) {
            alertReceived(alert)
        }
    }
}
