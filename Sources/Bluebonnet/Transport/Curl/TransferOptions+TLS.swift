import CCurl
import FoundationEssentials

/// Sets the options for TLS versions, ciphers and peers.
// Safety: a null pointer is libcurl's value for an unset option.
extension TransferOptions {
    /// Sets the configuration's options for TLS.
    ///
    /// The options also apply to proxies, except for the client certificate; see ``apply(_:to:)``.
    func applyTLS(to easy: EasyHandle) {
        let tls = configuration.tls
        // Libcurl's numbers for the maximum are those of the versions, shifted (`CURL_SSLVERSION_MAX_TLSv1_2`).
        let versions = tls.minimumVersion.number | (tls.maximumVersion?.number ?? 0) << 16
        easy.set(CURLOPT_SSLVERSION, versions)
        easy.set(CURLOPT_PROXY_SSLVERSION, versions)
        if !tls.ciphers.isEmpty {
            let list = tls.ciphers.joined(separator: ":")
            easy.set(CURLOPT_SSL_CIPHER_LIST, list)
            easy.set(CURLOPT_PROXY_SSL_CIPHER_LIST, list)
        }
        if !tls.cipherSuites.isEmpty {
            let list = tls.cipherSuites.joined(separator: ":")
            easy.set(CURLOPT_TLS13_CIPHERS, list)
            easy.set(CURLOPT_PROXY_TLS13_CIPHERS, list)
        }
        if let identity = tls.proxyClientIdentity { apply(identity, .ofProxies, to: easy) }
        // The trusted authorities are set on OpenSSL's context: see ``Transfer/prepare(_:of:)``.
        for option in [CURLOPT_CAINFO, CURLOPT_CAPATH, CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH] {
            unsafe easy.set(option, pointer: nil)
        }
        applyGeneration(of: authorities, to: easy)
        TransferCallbacks.installContext(on: easy)
    }

    /// Separates connections and TLS sessions from before and after a change of the authorities or of an identity.
    ///
    /// A resumed session and a reused connection transmit no certificates, so they rely on the authorities and on the
    /// identity of an earlier time. Libcurl reuses them only with the same settings. The path of a directory that does
    /// not exist, with the number of the change in its name, is such a setting. It has no other effect.
    private func applyGeneration(of authorities: AuthorityStore, to easy: EasyHandle) {
        easy.authorities = authorities.generation
        guard authorities.generation > 0 else { return }
        let name = "/nonexistent/bluebonnet-authorities-\(authorities.generation)"
        easy.set(CURLOPT_CAPATH, name)
        easy.set(CURLOPT_PROXY_CAPATH, name)
    }

    /// Sets the client certificate for servers that request one.
    func apply(_ choice: SelectedIdentity?, to easy: EasyHandle) {
        easy.identity = choice
        if let choice { apply(choice.identity, .ofServers, to: easy) }
    }

    private func apply(
        _ identity: Session.Configuration.TLS.ClientIdentity, _ options: IdentityOptions, to easy: EasyHandle
    ) {
        easy.set(options.format, identity.format.rawValue)
        switch identity.certificate {
        case .file(let path): easy.set(options.file, path)
        case .data(let data):
            easy.set(options.blob, bytes: data)
            // Libcurl 8.20.0 and later looks for TLS sessions by this name, and finds none without it. It reads the
            // certificate from the memory nevertheless.
            if Libcurl.version >= 0x08_14_00 { easy.set(options.file, "in memory") }
        }
        if let key = identity.key {
            easy.set(options.keyFormat, identity.format.rawValue)
            switch key {
            case .file(let path): easy.set(options.keyFile, path)
            case .data(let data): easy.set(options.keyBlob, bytes: data)
            }
        }
        // Without a passphrase, OpenSSL would read it from the terminal and block the loop.
        easy.set(options.passphrase, identity.passphrase ?? "")
    }
}

/// The options of libcurl that set an identity.
private struct IdentityOptions {
    let format, file, blob, keyFormat, keyFile, keyBlob, passphrase: CURLoption

    static let ofServers = IdentityOptions(
        format: CURLOPT_SSLCERTTYPE, file: CURLOPT_SSLCERT, blob: CURLOPT_SSLCERT_BLOB, keyFormat: CURLOPT_SSLKEYTYPE,
        keyFile: CURLOPT_SSLKEY, keyBlob: CURLOPT_SSLKEY_BLOB, passphrase: CURLOPT_KEYPASSWD)
    static let ofProxies = IdentityOptions(
        format: CURLOPT_PROXY_SSLCERTTYPE, file: CURLOPT_PROXY_SSLCERT, blob: CURLOPT_PROXY_SSLCERT_BLOB,
        keyFormat: CURLOPT_PROXY_SSLKEYTYPE, keyFile: CURLOPT_PROXY_SSLKEY, keyBlob: CURLOPT_PROXY_SSLKEY_BLOB,
        passphrase: CURLOPT_PROXY_KEYPASSWD)
}

extension Session.Configuration.TLS.Version {
    fileprivate var number: Int {
        switch self {
        case .v1_2: Int(CURL_SSLVERSION_TLSv1_2)
        case .v1_3: Int(CURL_SSLVERSION_TLSv1_3)
        }
    }
}

/// Assigns client certificates to hosts.
struct ClientIdentityTable: Sendable {
    private let hosts: HostTable<SelectedIdentity>
    private let others: SelectedIdentity?

    init(_ tls: Session.Configuration.TLS) {
        others = tls.clientIdentity.map { SelectedIdentity("tls.clientIdentity", $0) }
        let choices = tls.clientIdentities.map { host, identity in
            (host, SelectedIdentity("tls.clientIdentities[\(host.debugDescription)]", identity))
        }
        // Two identities for the same host are a mistake in the configuration, for which every request fails.
        hosts = HostTable(Dictionary(uniqueKeysWithValues: choices)) { first, _ in first }
    }

    /// Returns the client certificate for the host of a URL; `nil` if there is none.
    func choice(for url: URL) -> SelectedIdentity? {
        guard !hosts.isEmpty else { return others }
        let host = HostName.canonical(url.host(percentEncoded: false) ?? "")
        return hosts.value(forHost: host) ?? others
    }
}

/// An identity, and the name of its option in the configuration.
///
/// This is a reference type. A handle refers to the object with which it was set up.
final class SelectedIdentity: Sendable {
    let option: String
    let identity: Session.Configuration.TLS.ClientIdentity

    init(_ option: String, _ identity: Session.Configuration.TLS.ClientIdentity) {
        self.option = option
        self.identity = identity
    }
}
