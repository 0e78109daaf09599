public import FoundationEssentials

/// Finds the files of `Tests/Support/servers/revocation.sh`: an authority that revokes certificates, and its servers.
///
/// The servers are all on one port, each with a name of its own below `staple.test`, which leads nowhere by itself.
public struct RevocationFiles: Sendable {
    /// Where the certificates, the responses and the lists are.
    public let directory: URL

    /// The port of the servers.
    public let port: Int

    /// The port by which `openssl ocsp` is asked, which the certificates name as `http://127.0.0.1:PORT/`.
    public let responderPort: Int

    /// Reads where they are from the environment.
    ///
    /// - Throws: ``TestServers/NotStarted`` when `Tests/run` did not start the tests.
    public init() throws {
        directory = URL(
            filePath: try TestServers.variable("BLUEBONNET_REVOCATION"), directoryHint: .isDirectory)
        port = Int(try TestServers.variable("BLUEBONNET_STAPLE_PORT")) ?? 0
        responderPort = Int(try TestServers.variable("BLUEBONNET_OCSP_PORT")) ?? 0
    }

    /// Finds a file.
    ///
    /// - Parameter name: Its path within the directory.
    /// - Returns: Its URL.
    public func url(_ name: String) -> URL { directory.appending(path: name) }

    /// The URL of one of the servers.
    ///
    /// - Parameters:
    ///   - row: Its name without `.staple.test`.
    ///   - path: The path, with its leading slash.
    /// - Returns: An absolute URL.
    public func address(of row: String, _ path: String = "/") -> String { "https://\(row).staple.test:\(port)\(path)" }
}
