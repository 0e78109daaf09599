import COpenSSL
import FoundationEssentials

/// Owns an OpenSSL store: the certificates that may be the end of a chain, and revocation lists.
// Safety: nothing changes a store after its creation, and it lives as long as its owner.
@safe
final class TrustStore: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes over a reference.
    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = unsafe pointer
    }

    /// Creates a store of certificates, which do not have to be roots, and of the revocation lists that they have
    /// signed.
    init?(anchors: [X509Certificate], lists: [X509RevocationList] = []) {
        guard let pointer = unsafe X509_STORE_new() else { return nil }
        unsafe self.pointer = unsafe pointer
        _ = unsafe X509_STORE_set_flags(pointer, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        for anchor in anchors {
            // If this fails, the certificate is missing, so fewer chains are accepted.
            _ = unsafe X509_STORE_add_cert(pointer, anchor.pointer)
        }
        defer { ERR_clear_error() }
        // Without one of the lists, more chains would be accepted.
        for list in lists { guard unsafe X509_STORE_add_crl(pointer, list.pointer) == 1 else { return nil } }
    }

    deinit {
        unsafe X509_STORE_free(pointer)
    }

    /// Searches for a chain from the first certificate to a certificate in the store, by the rules for a TLS server.
    ///
    /// - Parameters:
    ///   - chain: The certificates to use, the server's own first.
    ///   - level: OpenSSL's security level, which sets the minimum strength of keys and signatures.
    /// - Returns: OpenSSL's verdict, and the chain if it is valid.
    func verify(_ chain: [X509Certificate], level: Int32) -> (verdict: ServerTrust.Verdict, chain: [X509Certificate]) {
        guard let leaf = chain.first, let context = unsafe X509_STORE_CTX_new() else { return (.outOfMemory, []) }
        defer {
            unsafe X509_STORE_CTX_free(context)
            ERR_clear_error()
        }
        let others = CertificateStack(chain.dropFirst())
        guard unsafe X509_STORE_CTX_init(context, pointer, leaf.pointer, others.pointer) == 1,
            unsafe X509_STORE_CTX_set_default(context, "ssl_server") == 1,
            let parameters = unsafe X509_STORE_CTX_get0_param(context)
        else { return (.outOfMemory, []) }
        unsafe X509_VERIFY_PARAM_set_auth_level(parameters, level)
        let flags = UInt(X509_V_FLAG_TRUSTED_FIRST) | UInt(X509_V_FLAG_PARTIAL_CHAIN)
        _ = unsafe X509_VERIFY_PARAM_set_flags(parameters, flags)
        let isTrusted = unsafe X509_verify_cert(context) == 1
        let verdict = unsafe ServerTrust.Verdict(of: context)
        guard isTrusted, verdict.isTrusted else { return (verdict.isTrusted ? .outOfMemory : verdict, []) }
        return (verdict, unsafe CertificateStack.certificates(of: X509_STORE_CTX_get0_chain(context)))
    }

    /// Checks that a certificate was issued by a certificate in the store, and is not in the store's lists.
    ///
    /// Returns OpenSSL's error code. OpenSSL's rules include the scope, the validity and the critical extensions of a
    /// list (RFC 5280 §6.3).
    func code(of certificate: X509Certificate) -> Int32 {
        guard let context = unsafe X509_STORE_CTX_new() else { return X509_V_ERR_OUT_OF_MEM }
        defer {
            unsafe X509_STORE_CTX_free(context)
            ERR_clear_error()
        }
        guard unsafe X509_STORE_CTX_init(context, pointer, certificate.pointer, nil) == 1 else {
            return X509_V_ERR_OUT_OF_MEM
        }
        unsafe X509_STORE_CTX_set_flags(context, UInt(X509_V_FLAG_PARTIAL_CHAIN) | UInt(X509_V_FLAG_CRL_CHECK))
        let isGood = unsafe X509_verify_cert(context) == 1
        let code = unsafe X509_STORE_CTX_get_error(context)
        return isGood || code != X509_V_OK ? code : X509_V_ERR_OUT_OF_MEM
    }

    /// Returns the status of a certificate in an OCSP response if the signer is authorized (RFC 6960).
    ///
    /// The response must be signed by the issuer of the certificate, or by a responder that the issuer has authorized
    /// (§4.2.2.2). Other authorities are ignored, and the issuer does not have to be trusted.
    ///
    /// - Parameters:
    ///   - response: The response to evaluate.
    ///   - certificate: The certificate to look up.
    ///   - issuer: The certificate of the issuer.
    /// - Returns: The status of the certificate; `.untrustedResponse` if the signer is not authorized.
    static func status(
        in response: OCSPResponse, of certificate: X509Certificate, issuedBy issuer: X509Certificate
    ) -> RevocationStatus {
        guard let store = TrustStore(anchors: [issuer]) else { return .untrustedResponse }
        let others = CertificateStack([issuer])
        defer { ERR_clear_error() }
        guard unsafe OCSP_basic_verify(response.basic, others.pointer, store.pointer, 0) == 1 else {
            return .untrustedResponse
        }
        return response.status(of: certificate, issuedBy: issuer)
    }
}

/// Owns an OpenSSL stack of certificates.
// Safety: the stack retains each certificate, and is used while its owner lives.
@safe
struct CertificateStack: ~Copyable {
    let pointer: OpaquePointer?

    init(_ certificates: ArraySlice<X509Certificate>) {
        unsafe pointer = bb_x509_stack_new()
        for certificate in certificates { _ = unsafe bb_x509_stack_push(pointer, certificate.pointer) }
    }

    deinit {
        unsafe bb_x509_stack_free(pointer)
    }

    /// Returns the certificates of a stack that another object owns.
    static func certificates(of stack: OpaquePointer?) -> [X509Certificate] {
        (0..<(unsafe bb_x509_stack_count(stack))).compactMap { index in
            unsafe X509Certificate(retaining: bb_x509_stack_at(stack, index))
        }
    }
}

extension ServerTrust.Verdict {
    /// Reads the verdict of a completed verification.
    init(of context: OpaquePointer) {
        unsafe self.init(
            code: Int(X509_STORE_CTX_get_error(context)), depth: Int(X509_STORE_CTX_get_error_depth(context)))
    }

    /// The verdict that OpenSSL reports when it runs out of memory.
    static let outOfMemory = ServerTrust.Verdict(code: Int(X509_V_ERR_OUT_OF_MEM), depth: 0)

    /// Returns OpenSSL's message for a code.
    static func message(for code: Int) -> String { unsafe String(cString: X509_verify_cert_error_string(code)) }
}

/// Creates stores of authorities, and attaches them to OpenSSL's contexts.
// Safety: the initializer that creates a store also fills it; contexts add their own references.
extension TrustStore {
    /// Reads the files and directories of a configuration.
    ///
    /// - Throws: A `.trust(.configuration)` error with the path, if a file or a directory cannot be read or contains no
    ///   certificate.
    convenience init(_ authorities: Authorities) throws(RequestError) {
        unsafe try self.init(filledBy: { store throws(RequestError) in
            if let file = authorities.file, unsafe !Self.load(file: file, into: store) {
                throw Self.flaw("tls.caFile", "\(file.debugDescription) is not a file of certificates")
            }
            if let directory = authorities.directory { unsafe try Self.load(directory: directory, into: store) }
            if let certificates = authorities.certificates {
                guard !certificates.isEmpty else { throw Self.flaw("tls.caCertificates", "there is none") }
                unsafe try Self.add(certificates, "tls.caCertificates", to: store)
            }
            if authorities.includesSystem {
                let systems = try SystemAuthorities.store()
                unsafe Self.add(systems, to: store)
            }
        })
    }

    /// Reads the system's authorities.
    ///
    /// - Parameters:
    ///   - file: The file with all authorities; `nil` if there is none.
    ///   - directory: The directory in which OpenSSL looks up more authorities; `nil` if there is none.
    /// - Throws: A `.trust(.configuration)` error if the file cannot be read or contains no certificate.
    convenience init(systemFile file: String?, directory: String?) throws(RequestError) {
        unsafe try self.init(filledBy: { store throws(RequestError) in
            if let file, unsafe !Self.load(file: file, into: store) {
                let text = "\(file.debugDescription) is not a file of certificates; tls.caFile can name another one"
                throw Self.flaw("the system's authorities", text)
            }
            if let directory { unsafe X509_STORE_load_path(store, directory) }
            if file == nil, directory == nil { unsafe X509_STORE_set_default_paths(store) }
        })
    }

    private convenience init(filledBy fill: (OpaquePointer) throws(RequestError) -> Void) throws(RequestError) {
        defer { ERR_clear_error() }
        guard let store = unsafe X509_STORE_new() else { throw RequestError(.internal, detail: "out of memory") }
        do throws(RequestError) {
            // As in libcurl, trusted certificates are preferred over the server's certificates, and need not be roots.
            let flags = UInt(X509_V_FLAG_TRUSTED_FIRST) | UInt(X509_V_FLAG_PARTIAL_CHAIN)
            unsafe X509_STORE_set_flags(store, flags)
            unsafe try fill(store)
        } catch {
            unsafe X509_STORE_free(store)
            throw error
        }
        unsafe self.init(owning: store)
    }

    /// Makes the connections of a context trust this store's authorities; returns whether this succeeded.
    func attach(to context: OpaquePointer) -> Bool { unsafe bb_ssl_context_use_store(context, pointer) == 1 }

    private static func load(file: String, into store: OpaquePointer) -> Bool {
        // OpenSSL treats an empty name as no name.
        !file.isEmpty && !file.utf8.contains(0) && (unsafe X509_STORE_load_file(store, file)) == 1
    }

    private static func load(directory: String, into store: OpaquePointer) throws(RequestError) {
        let option = "tls.caDirectory"
        let names: [String]
        do {
            guard !directory.isEmpty, !directory.utf8.contains(0) else {
                throw flaw(option, "the path of a directory is needed")
            }
            names = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            let message = "\(directory.debugDescription) is not a readable directory"
            throw error as? RequestError ?? flaw(option, message, underlying: error)
        }
        let isHashed = names.contains(where: isHash)
        if isHashed, unsafe X509_STORE_load_path(store, directory) != 1 {
            throw flaw(option, "OpenSSL cannot use \(directory.debugDescription)")
        }
        guard !isHashed || names.contains(where: Certificate.isFileName) else { return }
        do throws(RequestError) {
            unsafe try add(Certificate.all(inDirectory: URL(filePath: directory)), option, to: store)
        } catch {
            throw flaw(option, error.detail ?? "\(directory.debugDescription) has no certificate", underlying: error)
        }
    }

    /// Whether OpenSSL looks up certificates by such a name: eight hexadecimal digits, a dot and a number.
    private static func isHash(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0].count == 8 && parts[0].allSatisfy(\.isHexDigit)
            && !parts[1].isEmpty && parts[1].allSatisfy(\.isNumber)
    }

    private static func add(
        _ certificates: [Certificate], _ option: String, to store: OpaquePointer
    ) throws(RequestError) {
        for certificate in certificates where unsafe X509_STORE_add_cert(store, certificate.x509.pointer) != 1 {
            throw flaw(option, "OpenSSL cannot use the certificate of \"\(certificate.subject)\"")
        }
    }

    /// Adds the certificates of another store, and makes OpenSSL search the system's locations.
    private static func add(_ other: TrustStore, to store: OpaquePointer) {
        let stack = unsafe X509_STORE_get1_all_certs(other.pointer)
        defer { unsafe bb_x509_stack_free(stack) }
        // If this fails, the certificate is missing, so fewer chains are accepted.
        for index in 0..<(unsafe bb_x509_stack_count(stack)) {
            _ = unsafe X509_STORE_add_cert(store, bb_x509_stack_at(stack, index))
        }
        if let directory = Libcurl.authorityDirectory { unsafe X509_STORE_load_path(store, directory) }
        if Libcurl.authorityFile == nil, Libcurl.authorityDirectory == nil {
            unsafe X509_STORE_set_default_paths(store)
        }
    }

    private static func flaw(_ option: String, _ message: String, underlying: (any Error)? = nil) -> RequestError {
        RequestError(.trust(.configuration), detail: "\(option): \(message)", underlying: underlying)
    }
}

/// Stores a session's trusted authorities in OpenSSL's form.
///
/// An instance belongs to the engine and never leaves the loop's thread. Libcurl itself would usually read the files
/// and directories for every connection. The system's authorities are 200 KB of text.
final class AuthorityStore {
    private let authorities: Authorities
    /// The identity for proxies.
    private let proxyIdentity: Session.Configuration.TLS.ClientIdentity?
    private var known: (store: TrustStore, files: [FileStatus.Version?])?
    /// The store that was returned last.
    private var latest: TrustStore?
    /// The versions of the files of identities that were used.
    private var identityFiles: [String: FileStatus.Version?] = [:]
    /// The number of times that the authorities or the file of an identity have changed since they were first read.
    private(set) var generation = 0

    init(_ authorities: Authorities, proxyIdentity: Session.Configuration.TLS.ClientIdentity? = nil) {
        self.authorities = authorities
        self.proxyIdentity = proxyIdentity
    }

    /// Returns the store, which is read on first use, and again after a change of a file or a directory.
    ///
    /// - Parameter identity: The identity for the server of the handshake.
    /// - Returns: The store.
    /// - Throws: A `.trust(.configuration)` error with the path of the unusable file or directory. In this case, all
    ///   servers are refused.
    func store(with identity: Session.Configuration.TLS.ClientIdentity? = nil) throws(RequestError) -> TrustStore {
        let store = try current()
        let isReplaced = latest.map { $0 !== store } ?? false
        let isIdentityReplaced = noteFiles(of: identity)
        if noteFiles(of: proxyIdentity) || isIdentityReplaced || isReplaced { generation += 1 }
        latest = store
        return store
    }

    /// Returns whether a file of an identity has changed since its last use.
    private func noteFiles(of identity: Session.Configuration.TLS.ClientIdentity?) -> Bool {
        var hasChanged = false
        for case .file(let path)? in [identity?.certificate, identity?.key] {
            let version = FileSystem.status(path, followingLinks: true)?.version
            if let earlier = identityFiles.updateValue(version, forKey: path), earlier != version { hasChanged = true }
        }
        return hasChanged
    }

    private func current() throws(RequestError) -> TrustStore {
        if authorities.isSystemOnly { return try SystemAuthorities.store() }
        let files = [authorities.file, authorities.directory].compactMap(\.self).map {
            FileSystem.status($0, followingLinks: true)?.version
        }
        let systems = authorities.includesSystem ? SystemAuthorities.files : []
        if let known, known.files == files + systems { return known.store }
        known = nil
        let store = try TrustStore(authorities)
        known = (store, files + systems)
        return store
    }
}

/// The authorities that the system trusts, from the locations that libcurl was built with.
///
/// All sessions share them, because reading them takes more time than many requests.
enum SystemAuthorities {
    private static let known = Locked<(store: TrustStore, files: [FileStatus.Version?])?>(nil)

    /// The current status of the file and the directory.
    static var files: [FileStatus.Version?] {
        [Libcurl.authorityFile, Libcurl.authorityDirectory].compactMap(\.self)
            .map { FileSystem.status($0, followingLinks: true)?.version }
    }

    /// Returns the store, which is read on first use, and again after a change of the file or the directory.
    ///
    /// - Throws: A `.trust(.configuration)` error if the file cannot be used.
    static func store() throws(RequestError) -> TrustStore {
        let files = files
        return try known.withLock { known throws(RequestError) in
            if let known, known.files == files { return known.store }
            let store = try TrustStore(systemFile: Libcurl.authorityFile, directory: Libcurl.authorityDirectory)
            known = (store, files)
            return store
        }
    }
}

extension Authorities {
    fileprivate var isSystemOnly: Bool { file == nil && directory == nil && certificates == nil }
}

/// The trusted authorities of a session, as in its configuration.
struct Authorities: Hashable, Sendable {
    var file: String?
    var directory: String?
    var certificates: [Certificate]?
    /// Whether the system's authorities are included.
    var includesSystem: Bool

    init(_ tls: Session.Configuration.TLS) {
        file = tls.caFile
        directory = tls.caDirectory
        certificates = tls.caCertificates
        includesSystem = tls.includesSystemAuthorities || (file == nil && directory == nil && certificates == nil)
    }
}
