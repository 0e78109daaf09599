public import FoundationEssentials
import Glibc

/// Names a server that `Tests/run` starts on loopback before the tests.
///
/// Its address comes from the environment. A suite that was started by other means finds nothing there, and ``url(_:)``
/// throws: such tests fail, they do not pass in silence.
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

    /// nghttpd: TLS and HTTP/2 only, 2,000 streams a connection, nginx's files.
    ///
    /// It sends back what is posted, when it has all of it.
    case nghttpd = "BLUEBONNET_NGHTTPD"

    /// nghttpd without TLS: HTTP/2 by prior knowledge.
    case nghttpdPriorKnowledge = "BLUEBONNET_NGHTTPD_H2C"

    /// An HTTP/2 server that misbehaves as the path says; `Tests/Support/servers/h2_origin.py` begins with the list.
    case misbehavingHTTP2 = "BLUEBONNET_H2_ORIGIN"

    /// The same with no more than one stream at a time on a connection.
    case oneStreamHTTP2 = "BLUEBONNET_H2_ONE_STREAM"

    /// nginx with a certificate that has expired.
    case expiredCertificate = "BLUEBONNET_TLS_EXPIRED"

    /// nginx with a certificate for another host.
    case wrongHost = "BLUEBONNET_TLS_WRONG_HOST"

    /// nginx with a certificate that is signed by its own key.
    case selfSigned = "BLUEBONNET_TLS_SELF_SIGNED"

    /// nginx with a certificate by an authority that ``TestCertificates/authority`` is not.
    case untrustedAuthority = "BLUEBONNET_TLS_UNTRUSTED"

    /// nginx with TLS 1.2 only, and paths of its own; its certificate is for `named.test` and all below it, too.
    case tls1_2 = "BLUEBONNET_TLS_1_2"

    /// The same with TLS 1.3 only.
    case tls1_3 = "BLUEBONNET_TLS_1_3"

    /// The same with both, which answers with 400 unless the client shows a certificate by ``TestCertificates/authority``.
    case clientCertificates = "BLUEBONNET_TLS_CLIENT"

    /// The path of the unix socket on which ``nginx`` listens, too.
    ///
    /// - Returns: The path.
    /// - Throws: ``NotStarted`` when the environment does not name it.
    public static func nginxSocket() throws -> String { try variable("BLUEBONNET_NGINX_SOCKET") }

    /// Makes the address of something on the server.
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

    /// Tells that the environment names no such server: the tests were not started by `Tests/run`.
    public struct NotStarted: Error, CustomStringConvertible {
        /// The variable that was looked for.
        public let variable: String

        /// Says what to do.
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
