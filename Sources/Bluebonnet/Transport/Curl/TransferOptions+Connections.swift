import CCurl

/// Where connections lead, and how they are made.
extension TransferOptions {
    /// Sets what the configuration says about connections.
    func applyConnections(to easy: EasyHandle) {
        let limits = configuration.connectionLimits
        easy.set(CURLOPT_MAXAGE_CONN, Int(limits.idleLifetime.components.seconds))
        if let lifetime = limits.lifetime { easy.set(CURLOPT_MAXLIFETIME_CONN, Int(lifetime.components.seconds)) }
        if let path = configuration.unixSocketPath { easy.set(CURLOPT_UNIX_SOCKET_PATH, path) }
        if let interface = configuration.interface {
            // Without a prefix, libcurl would look for a host of that name as well, and wait for the answer.
            easy.set(CURLOPT_INTERFACE, (IPAddress.bytes(of: interface) != nil ? "host!" : "if!") + interface)
        }
        switch configuration.addressFamily {
        case .any: break
        case .ipv4: easy.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V4))
        case .ipv6: easy.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V6))
        }
        if let timeout = configuration.happyEyeballsTimeout {
            easy.set(CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS, timeout.milliseconds)
        }
        if let keepAlive = configuration.keepAlive {
            easy.set(CURLOPT_TCP_KEEPALIVE, 1)
            easy.set(CURLOPT_TCP_KEEPIDLE, Int(keepAlive.idle.components.seconds))
            easy.set(CURLOPT_TCP_KEEPINTVL, Int(keepAlive.interval.components.seconds))
        }
        if let overrides { easy.set(CURLOPT_RESOLVE, shared: overrides) }
        if let redirections { easy.set(CURLOPT_CONNECT_TO, shared: redirections) }
        applyAltSvc(to: easy)
        let servers = configuration.dns.servers
        if !servers.isEmpty { easy.set(CURLOPT_DNS_SERVERS, servers.joined(separator: ",")) }
    }

    private func applyAltSvc(to easy: EasyHandle) {
        guard configuration.altSvc != .off, !easy.usesAltSvc else { return }
        easy.usesAltSvc = true
        easy.set(CURLOPT_ALTSVC_CTRL, Int(CURLALTSVC_H1 | CURLALTSVC_H2 | CURLALTSVC_READONLYFILE))
        if case .file(let path) = configuration.altSvc { easy.set(CURLOPT_ALTSVC, path) }
    }

    /// Sets how the request stands beside others on its connection; the field that says so is among the others.
    func applyPriority(of request: HTTPRequest, to easy: EasyHandle) {
        if let priority = request.priority { easy.set(CURLOPT_STREAM_WEIGHT, priority.weight) }
    }
}

extension Session.Configuration.DNS {
    /// The overrides in libcurl's form; `nil` when there are none.
    var overrideLines: FieldList? {
        guard !overrides.isEmpty else { return nil }
        return FieldList(overrides.map { "\($0):\($1.joined(separator: ","))" }.sorted())
    }

    /// Where to connect instead, in libcurl's form, the entries that say more before those that say less; `nil` for none.
    var connectToLines: FieldList? {
        guard !connectTo.isEmpty else { return nil }
        let entries = connectTo.sorted {
            let (first, second) = (Self.openness(of: $0.key), Self.openness(of: $1.key))
            return first == second ? $0.key < $1.key : first < second
        }
        return FieldList(entries.map { "\($0.key):\($0.value)" })
    }

    /// How much an entry leaves open: nothing, the port, the host, or both.
    private static func openness(of key: String) -> Int { (key.hasSuffix(":") ? 1 : 0) + (key.hasPrefix(":") ? 2 : 0) }
}
