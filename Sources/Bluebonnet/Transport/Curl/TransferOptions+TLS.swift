import CCurl

/// What TLS may be spoken, and by whom.
// Safety: a null pointer is what libcurl takes for an option that is not set.
extension TransferOptions {
    /// Sets what the configuration says about TLS.
    ///
    /// The identity is for servers; the rest holds for proxies, too.
    func applyTLS(to easy: EasyHandle) {
        let tls = configuration.tls
        let versions = tls.minimumVersion.minimum | tls.maximum
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
        if let identity = tls.clientIdentity { apply(identity, to: easy) }
        if let file = tls.caFile {
            // Debian's libcurl trusts the system's directory as well, unless it is told not to.
            easy.set(CURLOPT_CAINFO, file)
            unsafe easy.set(CURLOPT_CAPATH, pointer: nil)
            easy.set(CURLOPT_PROXY_CAINFO, file)
            unsafe easy.set(CURLOPT_PROXY_CAPATH, pointer: nil)
        }
    }

    private func apply(_ identity: Session.Configuration.TLS.ClientIdentity, to easy: EasyHandle) {
        easy.set(CURLOPT_SSLCERTTYPE, identity.format.rawValue)
        switch identity.certificate {
        case .file(let path): easy.set(CURLOPT_SSLCERT, path)
        case .data(let data): easy.set(CURLOPT_SSLCERT_BLOB, bytes: data)
        }
        if let key = identity.key {
            easy.set(CURLOPT_SSLKEYTYPE, identity.format.rawValue)
            switch key {
            case .file(let path): easy.set(CURLOPT_SSLKEY, path)
            case .data(let data): easy.set(CURLOPT_SSLKEY_BLOB, bytes: data)
            }
        }
        // Without one, OpenSSL would ask for it on the terminal, and the loop would wait.
        easy.set(CURLOPT_KEYPASSWD, identity.passphrase ?? "")
    }
}

extension Session.Configuration.TLS.Version {
    fileprivate var minimum: Int {
        switch self {
        case .v1_2: Int(CURL_SSLVERSION_TLSv1_2)
        case .v1_3: Int(CURL_SSLVERSION_TLSv1_3)
        }
    }
}

extension Session.Configuration.TLS {
    fileprivate var maximum: Int {
        switch maximumVersion {
        case .v1_2: Int(CURL_SSLVERSION_MAX_TLSv1_2)
        case .v1_3: Int(CURL_SSLVERSION_MAX_TLSv1_3)
        case nil: Int(CURL_SSLVERSION_MAX_NONE)
        }
    }
}
