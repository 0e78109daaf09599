import Bluebonnet
import COpenSSL
import CSystem
import Glibc

/// The peer's certificate, and TLS with it.
// Safety: the context is made once, and OpenSSL lets threads share it.
@safe
final class TLSIdentity: @unchecked Sendable {
    /// The file that clients trust.
    let authority: String
    private let http1: OpaquePointer
    private let http2: OpaquePointer

    /// Reads `certificate.pem` and `key.pem`.
    init?(folder: String) {
        authority = folder + "/certificate.pem"
        guard let http1 = unsafe SSL_CTX_new(TLS_server_method()), let http2 = unsafe SSL_CTX_new(TLS_server_method())
        else { return nil }
        unsafe self.http1 = http1
        unsafe self.http2 = http2
        guard unsafe Self.use(folder, in: http1), unsafe Self.use(folder, in: http2) else { return nil }
        // Takes HTTP/2 where the client offers it; a server without a choice of its own speaks HTTP/1.1.
        unsafe SSL_CTX_set_alpn_select_cb(
            http2,
            { _, chosen, length, offered, count, _ in
                var index = 0
                while let offered = unsafe offered, index < Int(count) {
                    let size = unsafe Int(offered[index])
                    if size == 2 {
                        unsafe chosen?.pointee = offered + index + 1
                        unsafe length?.pointee = 2
                        return SSL_TLSEXT_ERR_OK
                    }
                    index += size + 1
                }
                return SSL_TLSEXT_ERR_NOACK
            }, nil)
    }

    private static func use(_ folder: String, in context: OpaquePointer) -> Bool {
        unsafe SSL_CTX_use_certificate_file(context, folder + "/certificate.pem", SSL_FILETYPE_PEM) == 1
            && SSL_CTX_use_PrivateKey_file(context, folder + "/key.pem", SSL_FILETYPE_PEM) == 1
    }

    // Shakes hands on a socket; gives the wire, and whether HTTP/2 was negotiated: by chance, if it is not said.
    func accept(
        _ socket: PeerSocket, random: inout Random, isTame: Bool, speaksHTTP2: Bool?
    ) -> (any ByteChannel, Bool)? {
        if !isTame, random.chance(3) { return misbehave(socket, &random) }
        let isLucky = random.chance(60)
        let choosesHTTP2 = speaksHTTP2 ?? isLucky
        guard let ssl = unsafe SSL_new(choosesHTTP2 ? http2 : http1) else { return nil }
        let channel = unsafe TLSChannel(socket: socket, ssl: ssl)
        unsafe SSL_set_accept_state(ssl)
        let end = now() + 4000
        while now() < end {
            switch channel.handshake() {
            case .done: return (channel, channel.isHTTP2)
            case .wantsRead: _ = PeerSocket.wait(for: [(socket.descriptor, false)], milliseconds: 100)
            case .wantsWrite: _ = PeerSocket.wait(for: [(socket.descriptor, true)], milliseconds: 20)
            case .ended, .failed: return nil
            }
        }
        return nil
    }

    /// Answers a handshake with something else.
    private func misbehave(_ socket: PeerSocket, _ random: inout Random) -> (any ByteChannel, Bool)? {
        let text = random.pick([
            "HTTP/1.1 400 Bad Request\r\n\r\n", "\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}\u{28}", "", "\u{16}\u{3}\u{3}",
        ])
        _ = socket.write(Array(text.utf8)[...])
        _ = PeerSocket.wait(for: [(socket.descriptor, false)], milliseconds: random.pick([0, 50, 3000]))
        return nil
    }
}

/// TLS on a socket of the peer's.
// Safety: confined to the connection's thread; the session is freed with the wire, and lives as long.
@safe
final class TLSChannel: ByteChannel {
    private let socket: PeerSocket
    private let ssl: OpaquePointer

    init(socket: PeerSocket, ssl: OpaquePointer) {
        self.socket = socket
        unsafe self.ssl = ssl
        _ = unsafe SSL_set_fd(ssl, socket.descriptor)
    }

    deinit {
        unsafe SSL_free(ssl)
    }

    var descriptor: Int32 { socket.descriptor }

    /// Whether ALPN chose HTTP/2.
    var isHTTP2: Bool {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &length)
        return length == 2
    }

    func handshake() -> ChannelOutcome { unsafe outcome(SSL_do_handshake(ssl)) }

    func read(into buffer: inout [UInt8]) -> ChannelOutcome {
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe SSL_read(ssl, $0.baseAddress, Int32($0.count)) }
        return outcome(count)
    }

    func write(_ bytes: ArraySlice<UInt8>) -> ChannelOutcome {
        let count = unsafe bytes.withUnsafeBytes { unsafe SSL_write(ssl, $0.baseAddress, Int32(min($0.count, 16_384))) }
        return outcome(count)
    }

    func end() { _ = unsafe SSL_shutdown(ssl) }

    private func outcome(_ code: Int32) -> ChannelOutcome {
        if code > 0 { return .done(Int(code)) }
        let reason = unsafe SSL_get_error(ssl, code)
        ERR_clear_error()
        return switch reason {
        case SSL_ERROR_WANT_READ: .wantsRead
        case SSL_ERROR_WANT_WRITE: .wantsWrite
        case SSL_ERROR_ZERO_RETURN: .ended
        default: .failed
        }
    }
}
