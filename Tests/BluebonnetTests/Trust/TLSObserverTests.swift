import BluebonnetTesting
import COpenSSL
import TestSupport
import Testing

@testable import Bluebonnet

/// What OpenSSL reads within one call; the peer and the network are in memory.
// Safety: every pointer is used only during its call, and freed at the end of the test.
@Suite(.timeLimit(.minutes(10))) struct TLSObserverTests {
    /// Connects a client and a server of TLS 1.3 through two buffers.
    private static func withConnection(
        observedBy observer: TLSObserver?, _ body: (_ client: OpaquePointer, _ server: OpaquePointer) throws -> Void
    ) throws {
        let certificates = try TestCertificates()
        let server = unsafe try #require(SSL_CTX_new(TLS_server_method()))
        let client = unsafe try #require(SSL_CTX_new(TLS_client_method()))
        defer {
            unsafe SSL_CTX_free(server)
            unsafe SSL_CTX_free(client)
        }
        unsafe try #require(SSL_CTX_use_certificate_file(server, certificates.server, SSL_FILETYPE_PEM) == 1)
        unsafe try #require(SSL_CTX_use_PrivateKey_file(server, certificates.serverKey, SSL_FILETYPE_PEM) == 1)
        unsafe observer?.attach(to: client)
        let ends = unsafe (client: try #require(SSL_new(client)), server: try #require(SSL_new(server)))
        defer {
            unsafe SSL_free(ends.client)
            unsafe SSL_free(ends.server)
        }
        let toServer = unsafe try #require(BIO_new(BIO_s_mem()))
        let toClient = unsafe try #require(BIO_new(BIO_s_mem()))
        unsafe BIO_up_ref(toServer)
        unsafe BIO_up_ref(toClient)
        unsafe SSL_set_bio(ends.client, toClient, toServer)
        unsafe SSL_set_bio(ends.server, toServer, toClient)
        unsafe SSL_set_connect_state(ends.client)
        unsafe SSL_set_accept_state(ends.server)
        for _ in 0..<4 {
            unsafe SSL_do_handshake(ends.client)
            unsafe SSL_do_handshake(ends.server)
        }
        unsafe try body(ends.client, ends.server)
    }

    /// What OpenSSL reads of one byte behind many new keys, and the number of questions whether that is a flood.
    private static func read(
        behind keys: Int, isFlood: Bool?, isAnswered: Bool = true
    ) throws -> (count: Int32, error: Int32, questions: Int) {
        var (result, questions): ((Int32, Int32), Int) = ((0, 0), 0)
        let observer = isFlood.map { isFlood in
            TLSObserver { _ in
            } isFlooded: {
                questions += 1
                return isFlood && questions == 2
            }
        }
        unsafe try withConnection(observedBy: observer) { client, server in
            for _ in 0..<keys {
                unsafe SSL_key_update(server, SSL_KEY_UPDATE_NOT_REQUESTED)
                unsafe try #require(SSL_do_handshake(server) == 1)
            }
            if isAnswered { unsafe try #require(SSL_write(server, "x", 1) == 1) }
            var byte: UInt8 = 0
            let count = unsafe SSL_read(client, &byte, 1)
            result = unsafe (count, SSL_get_error(client, count))
        }
        return (result.0, result.1, questions)
    }

    @Test func `OpenSSL reads on behind a thousand new keys, and ends with a flood`() throws {
        #expect(try Self.read(behind: 10_000, isFlood: nil) == (1, SSL_ERROR_NONE, 0))
        #expect(try Self.read(behind: 400, isFlood: true) == (1, SSL_ERROR_NONE, 0))
        let (count, _, questions) = try Self.read(behind: 10_000, isFlood: false)
        #expect(count == 1 && questions > 5)
        let flood = try Self.read(behind: 10_000, isFlood: true)
        #expect(flood.count <= 0 && flood.error != SSL_ERROR_WANT_READ && flood.questions == 2, "\(flood)")
    }

    /// The last of these keys are the first that are a flood: nothing follows them.
    @Test func `a flood ends also if nothing follows, and not as if the peer had closed the connection`() throws {
        for keys in 1355...1366 {
            let end = try Self.read(behind: keys, isFlood: true, isAnswered: false)
            let expected = end.questions < 2 ? [SSL_ERROR_WANT_READ] : [SSL_ERROR_SSL, SSL_ERROR_SYSCALL]
            #expect(expected.contains(end.error), "\(keys): \(end)")
        }
    }
}
