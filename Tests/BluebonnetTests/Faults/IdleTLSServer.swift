import COpenSSL
import CSystem
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

/// A server of TLS 1.3 and HTTP/1.1, by OpenSSL, that sends something before or after each answer.
///
/// An answer's body says how many connections there were. A thread for each connection; all waits are bounded.
// Safety: every pointer is used only during its call. The context is created once, and OpenSSL lets threads share it.
@safe final class IdleTLSServer: @unchecked Sendable {
    /// The bytes before or after an answer.
    enum Message: Sendable {
        /// NewSessionTicket (RFC 8446 §4.6.1).
        case ticket
        /// KeyUpdate (RFC 8446 §4.6.3), which may request a KeyUpdate from the client.
        case keyUpdate(asksBack: Bool)
        /// KeyUpdates until the client has left.
        case keyUpdates
        case bytes(String)
        /// The head that accepts a WebSocket (RFC 6455 §4.2.2).
        case acceptedWebSocket
        case silence(seconds: UInt32)
        case end
    }

    private let listener: Int32
    private let context: OpaquePointer
    private let messages: (before: [Message], after: [Message])
    private let state = Locked((connections: 0, exchanges: 0, isStopped: false))

    /// Starts it; all of the messages are sent before or after every answer.
    init(before: [Message] = [], after: [Message] = []) throws {
        let certificates = try TestCertificates()
        unsafe context = try #require(SSL_CTX_new(TLS_server_method()))
        messages = (before, after)
        unsafe try #require(SSL_CTX_use_certificate_file(context, certificates.server, SSL_FILETYPE_PEM) == 1)
        unsafe try #require(SSL_CTX_use_PrivateKey_file(context, certificates.serverKey, SSL_FILETYPE_PEM) == 1)
        listener = try listenOnLoopback()
        Thread.detachNewThread { self.acceptConnections() }
    }

    deinit { unsafe SSL_CTX_free(context) }

    var url: String { "https://127.0.0.1:\(bb_local_port(listener))/" }

    /// The number of answers after which everything was sent.
    var exchangeCount: Int { state.withLock { $0.exchanges } }

    func stop() {
        state.withLock { $0.isStopped = true }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func acceptConnections() {
        while true {
            let descriptor = accept(listener, nil, nil)
            guard descriptor >= 0, !state.withLock({ $0.isStopped }) else { break }
            Thread.detachNewThread {
                self.serve(descriptor)
                close(descriptor)
            }
        }
        close(listener)
    }

    private func serve(_ descriptor: Int32) {
        // To a client that has left, writing fails, and does not end the process.
        var signals = sigset_t()
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        // Or what follows an answer would wait for the client's next words.
        var on: Int32 = 1
        unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        guard let ssl = unsafe SSL_new(context) else { return }
        defer { unsafe SSL_free(ssl) }
        unsafe SSL_set_fd(ssl, descriptor)
        guard unsafe SSL_accept(ssl) == 1 else { return }
        let number = state.withLock { state in
            state.connections += 1
            return state.connections
        }
        while let request = unsafe nextRequest(on: ssl) {
            let body = "{\"connection\":\(number)}"
            for message in messages.before { unsafe send(message, on: ssl, descriptor, to: request) }
            unsafe send("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)", on: ssl)
            for message in messages.after { unsafe send(message, on: ssl, descriptor, to: request) }
            state.withLock { $0.exchanges += 1 }
        }
    }

    private func nextRequest(on ssl: OpaquePointer) -> String? {
        var request: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while request.firstRange(of: Array("\r\n\r\n".utf8)) == nil {
            let count = unsafe SSL_read(ssl, &buffer, Int32(buffer.count))
            guard count > 0 else { return nil }
            request += buffer.prefix(Int(count))
        }
        return String(decoding: request, as: UTF8.self)
    }

    private func send(_ text: String, on ssl: OpaquePointer) {
        let bytes = Array(text.utf8)
        _ = unsafe SSL_write(ssl, bytes, Int32(bytes.count))
    }

    @discardableResult private func sendKeys(on ssl: OpaquePointer, asksBack: Bool) -> Bool {
        unsafe SSL_key_update(ssl, asksBack ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED)
        return unsafe SSL_do_handshake(ssl) == 1
    }

    private func send(_ message: Message, on ssl: OpaquePointer, _ descriptor: Int32, to request: String) {
        switch message {
        case .ticket:
            unsafe SSL_new_session_ticket(ssl)
            _ = unsafe SSL_do_handshake(ssl)
        case .keyUpdate(let asksBack): unsafe sendKeys(on: ssl, asksBack: asksBack)
        case .keyUpdates: while unsafe sendKeys(on: ssl, asksBack: false) {}
        case .bytes(let text): unsafe send(text, on: ssl)
        case .acceptedWebSocket:
            let lines = request.split(separator: "\r\n")
            let key = lines.first { $0.lowercased().hasPrefix("sec-websocket-key: ") }?.dropFirst(19) ?? ""
            let accept = WebSocketHandshake.accept(for: String(key))
            let fields = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: \(accept)"
            unsafe send("HTTP/1.1 101 Switching\r\n\(fields)\r\n\r\n", on: ssl)
        case .silence(let seconds): sleep(seconds)
        case .end:
            _ = unsafe SSL_shutdown(ssl)
            shutdown(descriptor, Int32(SHUT_WR))
        }
    }
}

/// Listens on a free port of 127.0.0.1; returns the socket.
func listenOnLoopback() throws -> Int32 {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let code = unsafe withUnsafePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            unsafe bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    try #require(code == 0 && listen(listener, 16) == 0)
    return listener
}
