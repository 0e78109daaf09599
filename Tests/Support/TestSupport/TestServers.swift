public import FoundationEssentials
import Glibc

/// Names a server that `Tests/run` starts on loopback before the tests.
///
/// The environment contains the server's address. If the tests were not started by `Tests/run`, ``url(_:)`` throws, and
/// the tests fail.
///
///     let url = try TestServers.httpbin.url("/get?name=value")
public enum TestServers: String, CaseIterable, Sendable {
    /// httpbin under gunicorn: HTTP/1.1, 128 requests at a time.
    case httpbin = "BLUEBONNET_HTTPBIN"

    /// httpbin under hypercorn: TLS, HTTP/2 or HTTP/1.1 by ALPN, 128 requests at a time, 2,000 streams a connection.
    ///
    /// It reads a request's body to the end before it answers.
    case httpbinHTTP2 = "BLUEBONNET_HTTPBIN_H2"

    /// nginx with HTTP/1.1; the head of `Tests/Support/servers/nginx.conf` lists the paths.
    case nginx = "BLUEBONNET_NGINX"

    /// The same nginx with TLS, HTTP/2 or HTTP/1.1 by ALPN, 2,000 streams a connection.
    case nginxTLS = "BLUEBONNET_NGINX_TLS"

    /// nginx with no more than two streams at a time on a connection.
    case nginxFewStreams = "BLUEBONNET_NGINX_FEW_STREAMS"

    /// DNS over HTTPS at `/dns-query`; names below `doh.test` have the address 127.0.0.1.
    case doh = "BLUEBONNET_DOH"

    /// nghttpd: TLS and HTTP/2 only, 2,000 streams a connection, nginx's files.
    ///
    /// It echoes a posted body after it has received the whole body.
    case nghttpd = "BLUEBONNET_NGHTTPD"

    /// nghttpd without TLS: HTTP/2 by prior knowledge.
    case nghttpdPriorKnowledge = "BLUEBONNET_NGHTTPD_H2C"

    /// An HTTP/2 server whose path selects a fault; `Tests/Support/servers/h2_origin.py` begins with the list.
    case misbehavingHTTP2 = "BLUEBONNET_H2_ORIGIN"

    /// The same with no more than one stream at a time on a connection.
    case oneStreamHTTP2 = "BLUEBONNET_H2_ONE_STREAM"

    /// An HTTP/3 server on aioquic; `Tests/Support/servers/h3_origin.py` begins with the list of its paths.
    case http3 = "BLUEBONNET_H3_ORIGIN"

    /// nginx with a certificate that has expired.
    case expiredCertificate = "BLUEBONNET_TLS_EXPIRED"

    /// nginx with a certificate for another host.
    case wrongHost = "BLUEBONNET_TLS_WRONG_HOST"

    /// nginx with a certificate that is signed by its own key.
    case selfSigned = "BLUEBONNET_TLS_SELF_SIGNED"

    /// nginx with a certificate by an authority that ``TestCertificates/authority`` is not.
    case untrustedAuthority = "BLUEBONNET_TLS_UNTRUSTED"

    /// tinyproxy, an HTTP proxy; it makes its connections from 127.0.0.2.
    case proxy = "BLUEBONNET_PROXY"

    /// The same for the user `user` with the password `secret` alone, by Basic.
    case proxyWithPassword = "BLUEBONNET_PROXY_AUTH"

    /// haproxy in front of ``proxy``: a proxy that is spoken to by TLS.
    case secureProxy = "BLUEBONNET_PROXY_TLS"

    /// The same for clients with a certificate of ``TestCertificates/authority`` only.
    case secureProxyForClients = "BLUEBONNET_PROXY_TLS_CLIENT"

    /// Apache as an HTTP proxy that requires Digest for the same user.
    case digestProxy = "BLUEBONNET_PROXY_DIGEST"

    /// Apache as an HTTP proxy that requires Negotiate for the realm of ``Kerberos``.
    case negotiatingProxy = "BLUEBONNET_PROXY_NEGOTIATE"

    /// microsocks, a SOCKS 5 proxy; it makes its connections from 127.0.0.2.
    case socks = "BLUEBONNET_SOCKS"

    /// The same for the user `user` with the password `secret` alone.
    case socksWithPassword = "BLUEBONNET_SOCKS_AUTH"

    /// A SOCKS proxy that responds with the received request; see `Tests/Support/servers/socks_echo.py`.
    case socksEcho = "BLUEBONNET_SOCKS_ECHO"

    /// A server and a proxy that require NTLM; see `Tests/Support/servers/ntlm.py`.
    case ntlm = "BLUEBONNET_NTLM"

    /// Apache at `localhost`, which asks for Negotiate, for the realm of ``Kerberos``; below `/digest` for Digest.
    case apache = "BLUEBONNET_APACHE"

    /// nginx with TLS 1.2 only, and paths of its own; its certificate is for `named.test` and all below it, too.
    case tls1_2 = "BLUEBONNET_TLS_1_2"

    /// The same with TLS 1.3 only.
    case tls1_3 = "BLUEBONNET_TLS_1_3"

    /// The same with both, which answers with 400 unless the client shows a certificate by ``TestCertificates/authority``.
    case clientCertificates = "BLUEBONNET_TLS_CLIENT"

    /// The same, but a client may do without.
    case optionalClientCertificates = "BLUEBONNET_TLS_CLIENT_OPTIONAL"

    /// OpenSSL's server, which ends the handshake unless the client shows such a certificate.
    case handshakeEnder = "BLUEBONNET_TLS_ALERT"

    /// Starts servers that record the decrypted bytes; see `Tests/Support/servers/recorder.py`.
    case recorder = "BLUEBONNET_RECORDER"

    /// The path of the unix socket on which ``nginx`` listens, too.
    ///
    /// - Returns: The path.
    /// - Throws: ``NotStarted`` when the environment does not name it.
    public static func nginxSocket() throws -> String { try variable("BLUEBONNET_NGINX_SOCKET") }

    /// The log of ``nginx`` for what it sends at a limited rate, from `/rate/…`: a line for each request when it has ended,
    /// with its `Range` (`-` for none), the bytes of the body that were sent, and the target.
    ///
    /// - Returns: The path.
    /// - Throws: ``NotStarted`` when the environment does not name it.
    public static func ratesLog() throws -> String { try variable("BLUEBONNET_NGINX_RATES_LOG") }

    /// Returns a URL on the server.
    ///
    /// - Parameter path: What comes after host and port: a path, maybe a query; percent-encoded, with its leading slash.
    /// - Returns: An absolute URL.
    /// - Throws: ``NotStarted`` when the environment does not name the server, or the path is not valid in a URL.
    public func url(_ path: String = "/") throws -> URL {
        guard let url = URL(string: try Self.variable(rawValue) + path) else {
            throw NotStarted(variable: "\(rawValue) + \(path)")
        }
        return url
    }

    /// The address of a proxy, as passed to clients.
    ///
    /// - Parameters:
    ///   - userInfo: What stands before the host, if anything, without its `@`.
    ///   - scheme: Another scheme than the usual one.
    /// - Returns: A URL.
    /// - Throws: ``NotStarted`` when the environment does not name the server.
    public func proxyURL(userInfo: String? = nil, scheme: String? = nil) throws -> String {
        let text = try Self.variable(rawValue)
        let parts = text.split(separator: "://")
        guard parts.count == 2 else { throw NotStarted(variable: rawValue) }
        return "\(scheme ?? String(parts[0]))://\(userInfo.map { "\($0)@" } ?? "")\(parts[1])"
    }

    /// The environment does not contain the server, because the tests were not started by `Tests/run`.
    public struct NotStarted: Error, CustomStringConvertible {
        /// The variable that was looked for.
        public let variable: String

        /// The description with a hint.
        public var description: String {
            "\(variable) is not in the environment. Start the tests with Tests/run, which starts their servers; or run "
                + "`Tests/run --serve` in another terminal and `source .build/test-servers.env` in this one."
        }
    }

    /// Reads a variable that `Tests/run` exports.
    static func variable(_ name: String) throws -> String {
        guard let value = unsafe getenv(name) else { throw NotStarted(variable: name) }
        return unsafe String(cString: value)
    }
}
