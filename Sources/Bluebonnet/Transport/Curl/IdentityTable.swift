import FoundationEssentials

/// Says to which host a client shows who it is with what.
struct IdentityTable: Sendable {
    private let hosts: HostTable<IdentityChoice>
    private let others: IdentityChoice?

    init(_ tls: Session.Configuration.TLS) {
        others = tls.clientIdentity.map { IdentityChoice("tls.clientIdentity", $0) }
        let choices = tls.clientIdentities.map { host, identity in
            (host, IdentityChoice("tls.clientIdentities[\(host.debugDescription)]", identity))
        }
        // Two for the same host are a flaw, for which no request is made.
        hosts = HostTable(Dictionary(uniqueKeysWithValues: choices)) { first, _ in first }
    }

    /// What is shown to the host of a URL; `nil` for nothing.
    func choice(for url: URL) -> IdentityChoice? {
        guard !hosts.isEmpty else { return others }
        let host = HostName.canonical(url.host(percentEncoded: false) ?? "")
        return hosts.value(forHost: host) ?? others
    }
}

/// An identity, and where in the configuration it is.
///
/// A reference: that it is the same one says that a handle is set up for it.
final class IdentityChoice: Sendable {
    let option: String
    let identity: Session.Configuration.TLS.ClientIdentity

    init(_ option: String, _ identity: Session.Configuration.TLS.ClientIdentity) {
        self.option = option
        self.identity = identity
    }
}
