/// Says which authorities a session trusts, as its configuration does.
struct Authorities: Hashable, Sendable {
    var file: String?
    var directory: String?
    var certificates: [Certificate]?
    /// Whether the system's are among them.
    var includesSystems: Bool

    init(_ tls: Session.Configuration.TLS) {
        file = tls.caFile
        directory = tls.caDirectory
        certificates = tls.caCertificates
        includesSystems = tls.addsSystemAuthorities || (file == nil && directory == nil && certificates == nil)
    }
}
