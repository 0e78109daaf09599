import BluebonnetLibc
import CCurl
import COpenSSL
import CSystem
import FoundationEssentials

/// A mistake in the settings for connections and TLS that can be found without a connection.
///
/// Libcurl silently ignores some values, or treats them as other values. The settings are therefore checked when a
/// session is created. If there is a mistake, every request fails with it.
// Safety: the system reads the text only within the call.
struct ConfigurationIssue: Equatable {
    /// The name of the option in the configuration.
    let option: String
    /// The description of the mistake, for the error text.
    let message: String

    /// The error with which every request fails.
    var error: RequestError { RequestError(.invalidRequest(.configuration("\(option): \(message)"))) }

    init(_ option: String, _ message: String) {
        self.option = option
        self.message = message
    }

    /// Finds the first mistake in a configuration; `nil` if there is none.
    init?(in configuration: Session.Configuration) {
        let issue =
            Self.ofLimits(configuration.connectionLimits) ?? Self.ofRequests(configuration) ?? Self.ofSockets(
                configuration)
            ?? Self.ofNames(configuration.dns) ?? Self.ofLookups(configuration) ?? Self.ofHSTS(configuration.hsts)
            ?? Self.ofAltSvc(configuration.altSvc) ?? Self.ofTLS(configuration.tls)
        guard let issue else { return nil }
        self = issue
    }

    private static func ofLimits(_ limits: Session.Configuration.ConnectionLimits) -> Self? {
        for (name, value) in [("perHost", limits.perHost), ("total", limits.total), ("idle", limits.idle)] {
            guard let value, !(1...Int(Int32.max)).contains(value) else { continue }
            return Self("connectionLimits.\(name)", "\(value) is not a valid number of connections")
        }
        for (name, value) in [("idleLifetime", limits.idleLifetime), ("lifetime", limits.lifetime)] {
            guard let value, !isSeconds(value, atMost: Int64(Int32.max)) else { continue }
            return Self("connectionLimits.\(name)", "\(value) is less than a second, or too long")
        }
        return nil
    }

    private static func ofRequests(_ configuration: Session.Configuration) -> Self? {
        let loops = configuration.eventLoops.count
        guard (1...Session.Configuration.EventLoopCount.maximum).contains(loops) else {
            return Self("eventLoops", "\(loops) is not a number from 1 to 64")
        }
        let limits = configuration.requestLimits
        for (name, value) in [("perHost", limits.perHost), ("total", limits.total)] {
            if let value, value < 1 { return Self("requestLimits.\(name)", "\(value) is less than 1") }
        }
        guard let (name, value) = configuration.speedLimits.firstInvalid else { return nil }
        return Self(name, "\(value) is not a valid number of bytes per second")
    }

    private static func ofSockets(_ configuration: Session.Configuration) -> Self? {
        // The address of a Unix socket has 108 bytes, including the terminating zero.
        if let path = configuration.unixSocketPath, !isText(path) || path.utf8.count > 107 {
            return Self("unixSocketPath", "a path of 1 to 107 bytes is needed")
        }
        // "if!" comes before the name, and libcurl reads at most 254 bytes.
        if let name = configuration.interface, !isText(name) || name.utf8.count > 200 {
            return Self("interface", "the name of an interface or an address is needed")
        }
        if let timeout = configuration.happyEyeballsTimeout, timeout < .milliseconds(1) {
            return Self("happyEyeballsTimeout", "\(timeout) is less than a millisecond")
        }
        guard let keepAlive = configuration.keepAlive else { return nil }
        // Linux rejects larger values, and libcurl does not report the failure.
        for (name, value) in [("idle", keepAlive.idle), ("interval", keepAlive.interval)] {
            guard !isSeconds(value, atMost: 32_767) else { continue }
            return Self("keepAlive.\(name)", "\(value) is not between 1 and 32,767 seconds")
        }
        return nil
    }

    private static func ofNames(_ dns: Session.Configuration.DNS) -> Self? {
        for (key, addresses) in dns.overrides.sorted(by: { $0.key < $1.key }) {
            guard let end = Endpoint(key), !end.host.isEmpty, end.port != nil, !end.host.contains("[") else {
                return Self("dns.overrides", "\(key.debugDescription) is not a host and port")
            }
            if addresses.isEmpty { return Self("dns.overrides", "there is no address for \(key.debugDescription)") }
            if let name = addresses.first(where: { IPAddress.bytes(of: $0) == nil }) {
                return Self("dns.overrides", "\(name.debugDescription) is not an IP address")
            }
        }
        for (key, target) in dns.connectTo.sorted(by: { $0.key < $1.key }) {
            for text in [key, target] where Endpoint(text) == nil {
                return Self("dns.connectTo", "\(text.debugDescription) is not a host and port")
            }
        }
        guard !dns.servers.isEmpty else { return nil }
        guard Libcurl.asksServers else {
            return Self("dns.servers", "this libcurl asks the system's servers only, since it is built without c-ares")
        }
        let isWrong = dns.servers.contains { !isText($0) || $0.contains(",") }
        return isWrong ? Self("dns.servers", "an address, or an address and a port, is needed") : nil
    }

    private static func ofLookups(_ configuration: Session.Configuration) -> Self? {
        guard let url = configuration.dns.httpsServer else { return nil }
        let text = url.absoluteString
        guard url.scheme?.lowercased() == "https", url.host()?.isEmpty == false, !text.contains("{"),
            !text.contains("%7B")
        else { return Self("dns.httpsServer", "an https URL without a template is needed") }
        guard !(0x08_05_00..<0x08_09_00).contains(Libcurl.version) else {
            return Self(
                "dns.httpsServer", "libcurl \(Libcurl.versionText), which is installed, may crash; 8.9.0 is needed")
        }
        guard configuration.connectionLimits.total != nil, !Libcurl.countsLookupsApart else { return nil }
        let message = "with libcurl \(Libcurl.versionText), lookups would wait for the connections of requests"
        return Self("connectionLimits.total", message + "; 8.9.0 is needed for this limit with dns.httpsServer")
    }

    private static func ofHSTS(_ hsts: Session.Configuration.HSTS) -> Self? {
        guard case .file(let path) = hsts else { return nil }
        guard isText(path) else { return Self("hsts", "the path of a file is needed") }
        if unsafe access(path, F_OK) == 0, !isFile(path, allowing: R_OK | W_OK) {
            return Self("hsts", "\(path.debugDescription) is not a readable and writable file")
        }
        // A temporary file is written to the same directory and renamed.
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "."
        guard !FileSystem.isWritable(String(folder)) else { return nil }
        return Self("hsts", "no file can be written in \(folder.debugDescription)")
    }

    private static func ofAltSvc(_ altSvc: Session.Configuration.AltSvc) -> Self? {
        guard case .file(let path) = altSvc, !isText(path) || !isFile(path, allowing: R_OK) else { return nil }
        return Self("altSvc", "\(path.debugDescription) is not a readable file")
    }

    private static func isFile(_ path: String, allowing mode: Int32) -> Bool {
        unsafe FileSystem.status(path, followingLinks: true)?.isRegular == true && access(path, mode) == 0
    }

    private static func ofTLS(_ tls: Session.Configuration.TLS) -> Self? {
        if tls.minimumVersion == .v1_3, tls.maximumVersion == .v1_2 {
            return Self("tls.maximumVersion", "it is below tls.minimumVersion")
        }
        if let name = CipherNames.firstUnknown(of: tls.ciphers) {
            return Self("tls.ciphers", "OpenSSL does not know \(name.debugDescription)")
        }
        if let name = CipherNames.firstUnknownSuite(of: tls.cipherSuites) {
            return Self("tls.cipherSuites", "OpenSSL does not know \(name.debugDescription)")
        }
        return ofIdentities(tls)
    }

    private static func ofIdentities(_ tls: Session.Configuration.TLS) -> Self? {
        var identities = [
            ("tls.clientIdentity", tls.clientIdentity), ("tls.proxyClientIdentity", tls.proxyClientIdentity),
        ]
        var names: [String: String] = [:]
        for (host, identity) in tls.clientIdentities.sorted(by: { $0.key < $1.key }) {
            guard let name = HostName.pattern(host) else {
                return Self("tls.clientIdentities", "\(host.debugDescription) is not a host")
            }
            if let twin = names.updateValue(host, forKey: name) {
                let message = "\(twin.debugDescription) and \(host.debugDescription) are the same host"
                return Self("tls.clientIdentities", message)
            }
            identities.append(("tls.clientIdentities[\(host.debugDescription)]", identity))
        }
        for (option, identity) in identities {
            if let message = identity.flatMap(problem) { return Self(option, message) }
        }
        return nil
    }

    private static func problem(of identity: Session.Configuration.TLS.ClientIdentity) -> String? {
        for source in [identity.certificate, identity.key] {
            switch source {
            case .file(let path) where !isText(path): return "the path of a file is needed"
            case .data(let data) where data.isEmpty: return "there are no bytes"
            case .file, .data, nil: break
            }
        }
        return identity.passphrase?.utf8.contains(0) == true ? "the pass phrase holds a NUL" : nil
    }

    /// Whether a text can be passed to libcurl, because it is not empty and contains no control characters.
    private static func isText(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    }

    private static func isSeconds(_ duration: Duration, atMost limit: Int64) -> Bool {
        (1...limit).contains(duration.components.seconds)
    }

    /// A host and a port, which may both be empty.
    private struct Endpoint {
        let host: Substring
        let port: Int?

        init?(_ text: String) {
            guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != 0x2c }), let colon = text.lastIndex(of: ":")
            else { return nil }
            host = text[..<colon]
            let digits = text[text.index(after: colon)...]
            port = Int(digits: digits)
            guard digits.isEmpty || (1...65_535).contains(port ?? 0) else { return nil }
            // Only an IPv6 address in brackets contains colons.
            if host.hasPrefix("[") {
                guard host.hasSuffix("]"), IPAddress.bytes(of: String(host.dropFirst().dropLast())) != nil else {
                    return nil
                }
            } else if host.contains(":") || host.contains("[") || host.contains("]") {
                return nil
            }
        }
    }
}

extension Libcurl {
    /// Whether the connections of DNS over HTTPS are not part of the limit of all connections.
    static let countsLookupsApart = version >= 0x08_09_00

    /// Whether libcurl's resolver accepts a list of DNS servers, which requires c-ares.
    static let asksServers = unsafe bb_curl_version()?.pointee.ares != nil
}

/// Checks the names of ciphers with OpenSSL.
///
/// OpenSSL ignores unknown names in a list that contains at least one known name. Each name is therefore checked
/// separately.
// Safety: the context is used only within the function that creates and frees it.
private enum CipherNames {
    /// Returns the first TLS 1.2 cipher name that OpenSSL does not know.
    static func firstUnknown(of names: [String]) -> String? {
        unsafe firstUnknown(of: names) { context, name in
            // A prefix is an operation on the cipher; a word that starts with an at sign is a command.
            if name.hasPrefix("@") { return true }
            let bare = name.first.map { "!-+".contains($0) } == true ? String(name.dropFirst()) : name
            return unsafe !bare.isEmpty && SSL_CTX_set_cipher_list(context, bare) == 1
        }
    }

    /// Returns the first TLS 1.3 cipher suite that OpenSSL does not know.
    static func firstUnknownSuite(of names: [String]) -> String? {
        unsafe firstUnknown(of: names) { context, name in
            unsafe !name.isEmpty && SSL_CTX_set_ciphersuites(context, name) == 1
        }
    }

    private static func firstUnknown(
        of names: [String], isKnown: (_ context: OpaquePointer, _ name: String) -> Bool
    ) -> String? {
        guard !names.isEmpty, let context = unsafe SSL_CTX_new(TLS_client_method()) else { return nil }
        defer {
            unsafe SSL_CTX_free(context)
            ERR_clear_error()
        }
        // A colon, a comma or a space would separate several names.
        return names.first { name in
            let isOne = name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x3a && $0 != 0x2c }
            return unsafe !isOne || !isKnown(context, name)
        }
    }
}
