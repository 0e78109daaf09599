import CCurl

/// Who judges the servers of a transfer's connection.
extension TransferOptions {
    /// Has the policy judge in libcurl's place, if there is one.
    func applyTrust(of transfer: Transfer, to easy: EasyHandle) {
        easy.trust = transfer.trust
        if transfer.needsFreshConnection { easy.set(CURLOPT_FRESH_CONNECT, 1) }
        guard let policy = transfer.trust else { return }
        // A session that is resumed shows no certificate, and so asks nobody.
        easy.set(CURLOPT_SSL_SESSIONID_CACHE, 0)
        // Libcurl compares the name after the handshake, whatever was decided in it.
        if policy.judgesHost { easy.set(CURLOPT_SSL_VERIFYHOST, 0) }
        if policy.judgesProxy { easy.set(CURLOPT_PROXY_SSL_VERIFYHOST, 0) }
    }
}
